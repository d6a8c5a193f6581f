#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "headscope/base/matrix.h"

namespace headscope {

/// out(i, j) = sum over batches b and all k of A_b(i, k) B_b(j, k), the same bits however the batches are divided among
/// threads and ranks.
///
/// The product of one batch is made in float by BLAS. The entries of these become integers, in units that follow from
/// how large the factors are in row i of A and row j of B, and add up exactly.
class ProductSum {
 public:
  /// `largest_a[i]`: no entry of row i of any A_b is larger in magnitude; the same of B. `terms`: how many products are
  /// added up for an entry, over all batches of all ranks.
  ProductSum(std::span<const float> largest_a, std::span<const float> largest_b, std::size_t terms);

  /// All A_b have the same shape, and all B_b; every view has a stride of 1 along rows or along columns. With
  /// `symmetric`, B_b must be A_b; half is computed.
  ///
  /// Cost: 2 * batches * rows_A * rows_B * columns flops, half of it if symmetric; tiles of the result on several
  /// threads.
  void add(std::size_t batches, const std::function<MatrixView(std::size_t)>& a,
           const std::function<MatrixView(std::size_t)>& b, bool symmetric);

  /// The integers, for other ranks' to be added.
  [[nodiscard]] std::span<std::int64_t> totals() noexcept { return totals_; }
  /// out. With `symmetric`, the half that was computed is mirrored.
  [[nodiscard]] DoubleMatrix values(bool symmetric) const;

 private:
  // Numbers of entry (i, j) are multiplied with rows_[i] * columns_[j].
  std::vector<double> rows_;
  std::vector<double> columns_;
  std::vector<std::int64_t> totals_;  // [j][i]
};

}  // namespace headscope
