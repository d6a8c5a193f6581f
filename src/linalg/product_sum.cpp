#include "headscope/linalg/product_sum.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "headscope/base/buffer.h"
#include "headscope/base/parallel.h"
#include "linalg/lapack.h"

namespace headscope {
namespace {

// Tiles large enough for BLAS to run well, and enough of them for the threads.
std::size_t tile_side(std::size_t n) {
  return n <= 512 ? 64 : 128;
}

// Rows [begin, end) of a matrix.
MatrixView rows_of(const MatrixView& matrix, std::size_t begin, std::size_t end) {
  return {matrix.data() + begin * matrix.row_stride(), end - begin, matrix.columns(), matrix.row_stride(),
          matrix.column_stride()};
}

// Terms that are added up in float before the sum goes to double.
constexpr std::size_t kFloatSum = 2048;

// product(i, j), column-major, = or += sum_k a(i, k) b(j, k).
void multiply(const MatrixView& a, const MatrixView& b, bool first, float* product) {
  assert(a.row_stride() == 1 || a.column_stride() == 1);
  assert(b.row_stride() == 1 || b.column_stride() == 1);
  const bool a_by_rows = a.column_stride() == 1;  // to BLAS, a transposed matrix
  const bool b_by_rows = b.column_stride() == 1;
  const auto leading = [](const MatrixView& m, bool by_rows) {
    const std::size_t extent = by_rows ? m.columns() : m.rows();
    return std::max<std::size_t>({by_rows ? m.row_stride() : m.column_stride(), extent, 1});
  };
  lapack::gemm(a_by_rows, !b_by_rows, a.rows(), b.rows(), a.columns(), 1.0F, a.data(), leading(a, a_by_rows), b.data(),
               leading(b, b_by_rows), first ? 0.0F : 1.0F, product, a.rows());
}

}  // namespace

DoubleMatrix product_sum(std::size_t batches, const std::function<MatrixView(std::size_t)>& a,
                         const std::function<MatrixView(std::size_t)>& b, bool symmetric) {
  if (batches == 0) return {};
  const std::size_t m = a(0).rows();
  const std::size_t n = b(0).rows();
  DoubleMatrix result(m, n);
  const std::size_t side = tile_side(std::max(m, n));
  const std::size_t across = (n + side - 1) / side;
  parallel_for((m + side - 1) / side * across, [&](std::size_t index) {
    const std::size_t row = index / across * side;
    const std::size_t column = index % across * side;
    if (symmetric && row > column) return;
    const std::size_t row_end = std::min(m, row + side);
    const std::size_t column_end = std::min(n, column + side);
    const std::size_t size = (row_end - row) * (column_end - column);
    thread_local Buffer<float> product;
    thread_local std::vector<double> sum;
    if (product.size() < size) product = Buffer<float>(side * side);
    sum.assign(size, 0);
    const std::size_t together = std::max<std::size_t>(1, kFloatSum / std::max<std::size_t>(1, a(0).columns()));
    for (std::size_t batch = 0; batch < batches; ++batch) {
      multiply(rows_of(a(batch), row, row_end), rows_of(b(batch), column, column_end), batch % together == 0,
               product.data());
      if (batch % together + 1 < together && batch + 1 < batches) continue;
      for (std::size_t i = 0; i < size; ++i) sum[i] += static_cast<double>(product.data()[i]);
    }
    const double* next = sum.data();
    for (std::size_t j = column; j < column_end; ++j) {
      for (std::size_t i = row; i < row_end; ++i) result(i, j) = *next++;
    }
  });
  if (!symmetric) return result;
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < i; ++j) result(i, j) = result(j, i);
  }
  return result;
}

}  // namespace headscope
