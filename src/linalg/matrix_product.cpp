#include "headscope/linalg/matrix_product.h"

#include <algorithm>
#include <stdexcept>

#include "headscope/base/parallel.h"
#include "linalg/lapack.h"

namespace headscope {
namespace {

// A row-major matrix read as column-major is its transpose; a transposed view is transposed by BLAS.
struct Operand {
  bool transpose;
  std::size_t stride;
};

Operand operand(MatrixView view) {
  if (view.column_stride() == 1 || view.columns() == 1) return {false, std::max(view.row_stride(), view.columns())};
  if (view.row_stride() == 1 || view.rows() == 1) return {true, std::max(view.column_stride(), view.rows())};
  throw std::logic_error("multiply: a matrix has no unit stride");
}

}  // namespace

void multiply(MatrixView a, MatrixView b, MatrixSpan c, float alpha, float beta) {
  if (a.columns() != b.rows() || a.rows() != c.rows() || b.columns() != c.columns()) {
    throw std::logic_error("multiply: the extents do not match");
  }
  if (c.rows() == 0 || c.columns() == 0) return;
  const Operand left = operand(b);
  const Operand right = operand(a);
  lapack::gemm(left.transpose, right.transpose, c.columns(), c.rows(), a.columns(), alpha, b.data(), left.stride,
               a.data(), right.stride, beta, c.data(), std::max(c.row_stride(), c.columns()));
}

void parallel_multiply(MatrixView a, MatrixView b, MatrixSpan c, float alpha, float beta) {
  // Large enough that repacking the other operand for every piece costs little, small enough to keep many threads busy.
  // Independent of the number of threads, because the edges of a product are summed in a different order.
  constexpr std::size_t kPiece = 384;
  constexpr std::size_t kMultiple = 16;  // one vector of floats
  const bool by_columns = c.columns() >= c.rows() || c.columns() >= 2 * kPiece;
  const std::size_t extent = by_columns ? c.columns() : c.rows();
  if (extent == 0) return;
  const std::size_t pieces = (extent + kPiece - 1) / kPiece;
  const std::size_t size = ((extent + pieces - 1) / pieces + kMultiple - 1) / kMultiple * kMultiple;
  parallel_for((extent + size - 1) / size, [&](std::size_t i) {
    const std::size_t first = i * size;
    const std::size_t count = std::min(size, extent - first);
    if (by_columns) {
      multiply(a, b.block(0, b.rows(), first, count), c.block(0, c.rows(), first, count), alpha, beta);
    } else {
      multiply(a.block(first, count, 0, a.columns()), b, c.block(first, count, 0, c.columns()), alpha, beta);
    }
  });
}

}  // namespace headscope
