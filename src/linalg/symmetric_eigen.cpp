#include "headscope/linalg/symmetric_eigen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headscope/base/error.h"
#include "linalg/lapack.h"

namespace headscope {
namespace {

void check_square(const DoubleMatrix& matrix) {
  if (matrix.columns() == matrix.rows()) return;
  throw Error(ErrorKind::kInvalidArgument, fmt::format("symmetric_eigen: the matrix is {} x {}, expected a square",
                                                       matrix.rows(), matrix.columns()));
}

}  // namespace

SymmetricEigen symmetric_eigen(const DoubleMatrix& matrix) {
  const std::size_t n = matrix.rows();
  check_square(matrix);
  SymmetricEigen result{std::vector<double>(n), matrix};
  if (n == 0) return result;
  // Our rows are LAPACK's columns: its upper triangle is our lower one, and column k of its result is our row k.
  if (!lapack::symmetric_eigen(n, result.vectors.values().data(), n, result.values.data())) {
    throw Error(ErrorKind::kNumeric, fmt::format("symmetric_eigen: no convergence for a matrix of order {}", n));
  }
  return result;
}

SymmetricEigen leading_eigen(const DoubleMatrix& matrix, std::size_t count) {
  const std::size_t n = matrix.rows();
  check_square(matrix);
  count = std::min(count, n);
  SymmetricEigen result{std::vector<double>(count), DoubleMatrix(count, n)};
  if (count == 0) return result;
  // The reduction does not detect NaN, and the eigenvalue iteration on its output may never terminate.
  for (const double value : matrix.values()) {
    if (!std::isfinite(value)) throw Error(ErrorKind::kNumeric, "symmetric_eigen: the matrix holds NaN or infinity");
  }
  DoubleMatrix work = matrix;
  if (lapack::leading_eigen(n, work.values().data(), n, count, result.values.data(), result.vectors.values().data()) <
      0) {
    throw Error(ErrorKind::kNumeric, fmt::format("symmetric_eigen: no convergence for a matrix of order {}", n));
  }
  return result;
}

}  // namespace headscope
