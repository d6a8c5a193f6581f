#include "headscope/linalg/product_sum.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "headscope/base/buffer.h"
#include "headscope/base/parallel.h"
#include "linalg/integer_sum.h"
#include "linalg/lapack.h"

namespace headscope {
namespace {

constexpr std::size_t kSide = 256;
// If there are fewer than kFewTiles tiles, the batches are also divided, into kBatchGroups groups with separate sums.
constexpr std::size_t kFewTiles = 16;
constexpr std::size_t kBatchGroups = 8;
// Bits of an integer sum. The other four are the sign and three bits of headroom for what rounding adds.
constexpr int kBits = 60;

// Rows [begin, end) of a matrix.
MatrixView rows_of(const MatrixView& matrix, std::size_t begin, std::size_t end) {
  return {matrix.data() + begin * matrix.row_stride(), end - begin, matrix.columns(), matrix.row_stride(),
          matrix.column_stride()};
}

// A view in the form BLAS expects.
struct Operand {
  explicit Operand(const MatrixView& m) : by_rows(m.column_stride() == 1) {
    assert(m.row_stride() == 1 || m.column_stride() == 1);
    const std::size_t extent = by_rows ? m.columns() : m.rows();
    leading = std::max<std::size_t>({by_rows ? m.row_stride() : m.column_stride(), extent, 1});
  }

  bool by_rows;  // transposed, from the column-major point of view of BLAS
  std::size_t leading;
};

// product(i, j), column-major, = sum_k a(i, k) b(j, k).
void multiply(const MatrixView& a, const MatrixView& b, float* product) {
  const Operand left(a);
  const Operand right(b);
  lapack::gemm(left.by_rows, !right.by_rows, a.rows(), b.rows(), a.columns(), 1.0F, a.data(), left.leading, b.data(),
               right.leading, 0.0F, product, a.rows());
}

// The same with b = a, for i <= j only.
void multiply_by_itself(const MatrixView& a, float* product) {
  const Operand operand(a);
  lapack::syrk_upper(operand.by_rows, a.rows(), a.columns(), 1.0F, a.data(), operand.leading, 0.0F, product, a.rows());
}

// A tile of the result: rows [row, row_end), columns [column, column_end).
struct Tile {
  std::size_t row;
  std::size_t row_end;
  std::size_t column;
  std::size_t column_end;
  bool upper;  // on the diagonal of a symmetric result: the part below it is not needed
};

// Returns the power of two that scales values of magnitude up to `largest` to below 2^bits.
double scale_below(double largest, int bits) {
  int exponent = 0;
  std::frexp(largest, &exponent);
  return std::ldexp(1.0, bits - exponent);
}

}  // namespace

ProductSum::ProductSum(std::span<const float> largest_a, std::span<const float> largest_b, std::size_t terms)
    : totals_(largest_a.size() * largest_b.size(), 0) {
  for (const float largest : largest_a) rows_.push_back(scale_below(static_cast<double>(largest), kBits / 2));
  const double scale = scale_below(static_cast<double>(terms), 0);
  for (const float largest : largest_b) {
    columns_.push_back(scale * scale_below(static_cast<double>(largest), kBits / 2));
  }
}

void ProductSum::add(std::size_t batches, const std::function<MatrixView(std::size_t)>& a,
                     const std::function<MatrixView(std::size_t)>& b, bool symmetric) {
  if (batches == 0) return;
  const std::size_t m = rows_.size();
  const std::size_t n = columns_.size();
  const std::size_t across = (n + kSide - 1) / kSide;
  const std::size_t tiles = (m + kSide - 1) / kSide * across;
  const std::size_t groups = tiles < kFewTiles ? std::min(kBatchGroups, batches) : 1;
  std::vector<std::vector<std::int64_t>> others(groups - 1);
  for (std::vector<std::int64_t>& sums : others) sums.assign(totals_.size(), 0);

  const auto add_tile = [&](const Tile& tile, std::size_t begin, std::size_t end, std::int64_t* sums) {
    thread_local Buffer<float> product(kSide * kSide);
    for (std::size_t batch = begin; batch < end; ++batch) {
      const MatrixView rows = rows_of(a(batch), tile.row, tile.row_end);
      if (tile.upper) {
        multiply_by_itself(rows, product.data());
      } else {
        multiply(rows, rows_of(b(batch), tile.column, tile.column_end), product.data());
      }
      const float* next = product.data();
      for (std::size_t j = tile.column; j < tile.column_end; ++j, next += rows.rows()) {
        const std::size_t row_end = tile.upper ? j + 1 : tile.row_end;
        add_as_integers(next, rows_.data() + tile.row, columns_[j], row_end - tile.row, sums + j * m + tile.row);
      }
    }
  };
  parallel_for(tiles * groups, [&](std::size_t index) {
    const std::size_t row = index / groups / across * kSide;
    const std::size_t column = index / groups % across * kSide;
    if (symmetric && row > column) return;
    const std::size_t group = index % groups;
    const Tile tile{row, std::min(m, row + kSide), column, std::min(n, column + kSide), symmetric && row == column};
    add_tile(tile, group * batches / groups, (group + 1) * batches / groups,
             group == 0 ? totals_.data() : others[group - 1].data());
  });
  parallel_for(n, [&](std::size_t j) {
    for (const std::vector<std::int64_t>& sums : others) {
      for (std::size_t i = j * m; i < (j + 1) * m; ++i) totals_[i] += sums[i];
    }
  });
}

DoubleMatrix ProductSum::values(bool symmetric) const {
  const std::size_t m = rows_.size();
  DoubleMatrix result(m, columns_.size());
  parallel_for(columns_.size(), [&](std::size_t j) {
    for (std::size_t i = 0; i < (symmetric ? j + 1 : m); ++i) {
      result(i, j) = static_cast<double>(totals_[j * m + i]) / (rows_[i] * columns_[j]);
      if (symmetric) result(j, i) = result(i, j);
    }
  });
  return result;
}

}  // namespace headscope
