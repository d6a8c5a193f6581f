#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headscope/io/dtype.h"

namespace headscope {

/// Bounds, for each head, the norm of the errors that storing its matrix in a narrow type has added to it.
///
/// An element w_ij that is stored in steps of ulp_ij has an error of deviation delta_ij = |g_i| ulp_ij / sqrt(12),
/// where g_i is the factor folded into row i. The errors are nearly independent, and the norm of such a matrix is about
/// its largest row deviation plus its largest column deviation. The bound is
///
///   tau = c (max_i sqrt(sum_j delta_ij^2) + max_j sqrt(sum_i delta_ij^2)),
///
/// with c = 1.1 for types of 16 bits and c = 1.5 for narrower ones, whose errors are less uniform: elements at the end
/// of a block's range are clipped. Removing the mean of each column afterwards is a projection and does not increase
/// the norm.
///
/// Rows may be added by several threads if no two of them use the same row or part, columns if no two of them use the
/// same head. Results do not depend on the number of threads.
class StorageNoise {
 public:
  /// Column sums are kept in `parts` parts, added up in order. `factors`: g, one per channel; empty for 1.
  StorageNoise(std::size_t heads, std::size_t d_model, std::size_t d_head, std::size_t parts,
               std::span<const float> factors);

  /// Adds column j of a head: the spacings of its d_model elements.
  void add_column(std::size_t head, std::size_t j, std::span<const float> spacings);
  /// Adds elements of row i of a head: the columns from `first` on.
  void add_row(std::size_t part, std::size_t i, std::size_t head, std::size_t first, std::span<const float> spacings);

  /// Returns tau of each head.
  [[nodiscard]] std::vector<double> bounds(DType stored) const;

 private:
  std::size_t heads_;
  std::size_t d_model_;
  std::size_t d_head_;
  std::vector<float> factors_;
  std::vector<double> rows_;     // [head][i], sums of squared spacings times factors
  std::vector<double> columns_;  // [part][head][j]
};

}  // namespace headscope
