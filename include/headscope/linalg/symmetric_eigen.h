#pragma once

#include <cstddef>
#include <vector>

#include "headscope/base/matrix.h"

namespace headscope {

/// Eigendecomposition A = sum_k values[k] * v_k v_k^T.
struct SymmetricEigen {
  std::vector<double> values;  ///< Ascending.
  DoubleMatrix vectors;        ///< Row k is v_k, of unit length.
};

/// Computes all eigenpairs of a symmetric matrix by divide and conquer, O(n^3). Reads only the lower triangle.
///
/// \throws Error  kInvalidArgument if the matrix is not square, kNumeric if the iteration does not converge (NaN in the
///                input).
[[nodiscard]] SymmetricEigen symmetric_eigen(const DoubleMatrix& matrix);

/// Computes only the eigenpairs of largest magnitude, at most `count` of them; values ascending. If count is small,
/// takes about a third of the time of `symmetric_eigen`.
///
/// \throws Error  as `symmetric_eigen`; kNumeric also if the matrix contains a NaN or an infinity.
[[nodiscard]] SymmetricEigen leading_eigen(const DoubleMatrix& matrix, std::size_t count);

}  // namespace headscope
