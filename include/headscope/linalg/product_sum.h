#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "headscope/base/matrix.h"

namespace headscope {

/// Computes out(i, j) = sum over batches b and all k of A_b(i, k) B_b(j, k). The result is bitwise independent of how
/// the batches are divided among threads and ranks.
///
/// BLAS computes the product of each batch in float. Its entries are converted to integers, which add exactly; the unit
/// of entry (i, j) follows from the largest magnitudes in row i of A and row j of B.
class ProductSum {
 public:
  /// `largest_a[i]` bounds the magnitude of the entries of row i of every A_b; `largest_b` does the same for B. `terms`
  /// is the number of products summed per entry, over all batches of all ranks.
  ProductSum(std::span<const float> largest_a, std::span<const float> largest_b, std::size_t terms);

  /// All A_b must have the same shape, and so must all B_b; every view must have unit stride along rows or along
  /// columns. If `symmetric` is set, B_b must equal A_b, and half of the result is computed.
  ///
  /// Cost: 2 * batches * rows_A * rows_B * columns flops, half of that if symmetric. Tiles of the result are computed
  /// in parallel.
  void add(std::size_t batches, const std::function<MatrixView(std::size_t)>& a,
           const std::function<MatrixView(std::size_t)>& b, bool symmetric);

  /// The integer sums, to which those of other ranks can be added.
  [[nodiscard]] std::span<std::int64_t> totals() noexcept { return totals_; }
  /// Returns out. If `symmetric` is set, mirrors the half that was computed.
  [[nodiscard]] DoubleMatrix values(bool symmetric) const;

 private:
  // Entry (i, j) is scaled by rows_[i] * columns_[j].
  std::vector<double> rows_;
  std::vector<double> columns_;
  std::vector<std::int64_t> totals_;  // [j][i]
};

}  // namespace headscope
