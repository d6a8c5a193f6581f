#include "headscope/linalg/product_sum.h"

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include "headscope/base/buffer.h"
#include "headscope/base/parallel.h"
#include "linalg/lapack.h"

namespace headscope {
namespace {

constexpr std::size_t kSide = 128;
// Where tiles are few, the batches are dealt out as well: every so many have a sum of their own.
constexpr std::size_t kFewTiles = 16;
constexpr std::size_t kBatchGroups = 8;

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

// Part of the result.
struct Tile {
  std::size_t row;
  std::size_t row_end;
  std::size_t column;
  std::size_t column_end;
};

// One tile of the sum over batches [begin, end).
void add_products(std::size_t begin, std::size_t end, const std::function<MatrixView(std::size_t)>& a,
                  const std::function<MatrixView(std::size_t)>& b, const Tile& tile, DoubleMatrix& sum) {
  thread_local Buffer<float> product(kSide * kSide);
  const std::size_t together = std::max<std::size_t>(1, kFloatSum / std::max<std::size_t>(1, a(0).columns()));
  for (std::size_t batch = begin; batch < end; ++batch) {
    const std::size_t pending = (batch - begin) % together;
    multiply(rows_of(a(batch), tile.row, tile.row_end), rows_of(b(batch), tile.column, tile.column_end), pending == 0,
             product.data());
    if (pending + 1 < together && batch + 1 < end) continue;
    const float* next = product.data();
    for (std::size_t j = tile.column; j < tile.column_end; ++j) {
      for (std::size_t i = tile.row; i < tile.row_end; ++i) sum(i, j) += static_cast<double>(*next++);
    }
  }
}

}  // namespace

DoubleMatrix product_sum(std::size_t batches, const std::function<MatrixView(std::size_t)>& a,
                         const std::function<MatrixView(std::size_t)>& b, bool symmetric) {
  if (batches == 0) return {};
  const std::size_t m = a(0).rows();
  const std::size_t n = b(0).rows();
  const std::size_t across = (n + kSide - 1) / kSide;
  const std::size_t tiles = (m + kSide - 1) / kSide * across;
  const std::size_t groups = tiles < kFewTiles ? std::min(kBatchGroups, batches) : 1;
  std::vector<DoubleMatrix> sums(groups);
  for (DoubleMatrix& sum : sums) sum = DoubleMatrix(m, n);
  parallel_for(tiles * groups, [&](std::size_t index) {
    const std::size_t row = index / groups / across * kSide;
    const std::size_t column = index / groups % across * kSide;
    if (symmetric && row > column) return;
    const std::size_t group = index % groups;
    const Tile tile{row, std::min(m, row + kSide), column, std::min(n, column + kSide)};
    add_products(group * batches / groups, (group + 1) * batches / groups, a, b, tile, sums[group]);
  });
  DoubleMatrix result = std::move(sums.front());
  for (std::size_t g = 1; g < groups; ++g) {
    for (std::size_t i = 0; i < result.values().size(); ++i) result.values()[i] += sums[g].values()[i];
  }
  if (!symmetric) return result;
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < i; ++j) result(i, j) = result(j, i);
  }
  return result;
}

}  // namespace headscope
