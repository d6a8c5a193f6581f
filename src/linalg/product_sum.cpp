#include "headscope/linalg/product_sum.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "headscope/base/buffer.h"
#include "headscope/base/parallel.h"
#include "linalg/lapack.h"

namespace headscope {
namespace {

constexpr std::size_t kSide = 256;
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

// A view as BLAS takes it.
struct Operand {
  explicit Operand(const MatrixView& m) : by_rows(m.column_stride() == 1) {
    assert(m.row_stride() == 1 || m.column_stride() == 1);
    const std::size_t extent = by_rows ? m.columns() : m.rows();
    leading = std::max<std::size_t>({by_rows ? m.row_stride() : m.column_stride(), extent, 1});
  }

  bool by_rows;  // to BLAS, a transposed matrix
  std::size_t leading;
};

// product(i, j), column-major, = or += sum_k a(i, k) b(j, k).
void multiply(const MatrixView& a, const MatrixView& b, bool first, float* product) {
  const Operand left(a);
  const Operand right(b);
  lapack::gemm(left.by_rows, !right.by_rows, a.rows(), b.rows(), a.columns(), 1.0F, a.data(), left.leading, b.data(),
               right.leading, first ? 0.0F : 1.0F, product, a.rows());
}

// The same with b = a, for i <= j only.
void multiply_by_itself(const MatrixView& a, bool first, float* product) {
  const Operand operand(a);
  lapack::syrk_upper(operand.by_rows, a.rows(), a.columns(), 1.0F, a.data(), operand.leading, first ? 0.0F : 1.0F,
                     product, a.rows());
}

// Part of the result.
struct Tile {
  std::size_t row;
  std::size_t row_end;
  std::size_t column;
  std::size_t column_end;
  bool upper;  // lies on the diagonal of a symmetric result: what is below is not needed
};

// One tile of the sum over batches [begin, end); `sum` is the transposed.
void add_products(std::size_t begin, std::size_t end, const std::function<MatrixView(std::size_t)>& a,
                  const std::function<MatrixView(std::size_t)>& b, const Tile& tile, DoubleMatrix& sum) {
  thread_local Buffer<float> product(kSide * kSide);
  const std::size_t together = std::max<std::size_t>(1, kFloatSum / std::max<std::size_t>(1, a(0).columns()));
  for (std::size_t batch = begin; batch < end; ++batch) {
    const std::size_t pending = (batch - begin) % together;
    const MatrixView rows = rows_of(a(batch), tile.row, tile.row_end);
    if (tile.upper) {
      multiply_by_itself(rows, pending == 0, product.data());
    } else {
      multiply(rows, rows_of(b(batch), tile.column, tile.column_end), pending == 0, product.data());
    }
    if (pending + 1 < together && batch + 1 < end) continue;
    const float* next = product.data();
    for (std::size_t j = tile.column; j < tile.column_end; ++j, next += rows.rows()) {
      const std::size_t row_end = tile.upper ? j + 1 : tile.row_end;
      double* to = sum.row(j).data();
      for (std::size_t i = tile.row; i < row_end; ++i) to[i] += static_cast<double>(next[i - tile.row]);
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
  for (DoubleMatrix& sum : sums) sum = DoubleMatrix(n, m);
  parallel_for(tiles * groups, [&](std::size_t index) {
    const std::size_t row = index / groups / across * kSide;
    const std::size_t column = index / groups % across * kSide;
    if (symmetric && row > column) return;
    const std::size_t group = index % groups;
    const Tile tile{row, std::min(m, row + kSide), column, std::min(n, column + kSide), symmetric && row == column};
    add_products(group * batches / groups, (group + 1) * batches / groups, a, b, tile, sums[group]);
  });
  DoubleMatrix result(m, n);
  parallel_for(n, [&](std::size_t j) {
    const std::size_t row_end = symmetric ? j + 1 : m;
    for (std::size_t g = 1; g < groups; ++g) {
      for (std::size_t i = 0; i < row_end; ++i) sums[0](j, i) += sums[g](j, i);
    }
    for (std::size_t i = 0; i < row_end; ++i) {
      result(i, j) = sums[0](j, i);
      if (symmetric) result(j, i) = sums[0](j, i);
    }
  });
  return result;
}

}  // namespace headscope
