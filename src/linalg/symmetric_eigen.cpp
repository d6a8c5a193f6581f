#include "headscope/linalg/symmetric_eigen.h"

#include <fmt/format.h>

#include "headscope/base/error.h"
#include "linalg/lapack.h"

namespace headscope {

SymmetricEigen symmetric_eigen(const DoubleMatrix& matrix) {
  const std::size_t n = matrix.rows();
  if (matrix.columns() != n) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("symmetric_eigen: the matrix is {} x {}, expected a square", n, matrix.columns()));
  }
  SymmetricEigen result{std::vector<double>(n), matrix};
  if (n == 0) return result;
  // Our rows are LAPACK's columns: its upper triangle is our lower one, and column k of its result our row k.
  if (!lapack::symmetric_eigen(n, result.vectors.values().data(), n, result.values.data())) {
    throw Error(ErrorKind::kNumeric, fmt::format("symmetric_eigen: no convergence for a matrix of order {}", n));
  }
  return result;
}

}  // namespace headscope
