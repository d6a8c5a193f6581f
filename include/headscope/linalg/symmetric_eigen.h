#pragma once

#include <cstddef>
#include <vector>

#include "headscope/base/matrix.h"

namespace headscope {

/// A = sum_k values[k] * v_k v_k^T.
struct SymmetricEigen {
  std::vector<double> values;  ///< Ascending.
  DoubleMatrix vectors;        ///< Row k is v_k, of unit length.
};

/// All eigenpairs of a symmetric matrix, by divide and conquer: O(n^3). Reads the
/// lower triangle only.
///
/// \throws Error  kInvalidArgument if the matrix is not square, kNumeric if the
///                iteration does not converge (NaN in the input).
[[nodiscard]] SymmetricEigen symmetric_eigen(const DoubleMatrix& matrix);

/// The eigenpairs of largest magnitude only, at most `count` of them; values ascending. About a third of the time
/// of all of them, where count is small.
///
/// \throws Error  as `symmetric_eigen`.
[[nodiscard]] SymmetricEigen leading_eigen(const DoubleMatrix& matrix, std::size_t count);

}  // namespace headscope
