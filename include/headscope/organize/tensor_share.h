#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "headscope/base/ranks.h"
#include "headscope/organize/network_tensor.h"

namespace headscope {

/// A network tensor distributed over ranks: each rank owns the maps of consecutive heads, with all their queries and
/// keys, as a tensor of its own. With a single rank, it owns all heads.
///
/// Properties of the whole tensor (its queries and keys, the kind of maps, whether there is a mask and whether heads
/// share it) are the same on all ranks. A rank may own no heads.
class TensorShare {
 public:
  /// The whole tensor, on a single rank. `whole` must outlive the share.
  TensorShare(const NetworkTensor& whole)  // NOLINT(google-explicit-constructor): a tensor is such a share
      : own_(whole), ranks_(one_rank()), head_names_(whole.head_names) {}
  /// `own` holds the heads of this rank, partition_range(all heads, rank, ranks); `head_names` are the names of all
  /// heads. `own` and `ranks` must outlive the share.
  TensorShare(const NetworkTensor& own, std::vector<std::string> head_names, Ranks& ranks)
      : own_(own), ranks_(ranks), head_names_(std::move(head_names)) {}

  [[nodiscard]] const NetworkTensor& own() const noexcept { return own_; }
  [[nodiscard]] Ranks& ranks() const noexcept { return ranks_; }
  /// Names of all heads, on any rank.
  [[nodiscard]] const std::vector<std::string>& head_names() const noexcept { return head_names_; }

  /// Extents of the whole tensor: heads, queries, keys.
  [[nodiscard]] std::array<std::size_t, 3> extents() const noexcept { return {heads(), own_.queries(), own_.keys()}; }
  [[nodiscard]] std::size_t extent(TensorAxis axis) const noexcept { return extents()[static_cast<std::size_t>(axis)]; }
  [[nodiscard]] std::size_t heads() const noexcept { return head_names_.size(); }
  /// Number of entries of all heads.
  [[nodiscard]] std::size_t size() const noexcept { return heads() * own_.map_size(); }

  /// The heads that a rank owns.
  [[nodiscard]] IndexRange heads_of(std::size_t rank) const noexcept {
    return partition_range(heads(), rank, ranks_.size());
  }
  [[nodiscard]] IndexRange own_heads() const noexcept { return heads_of(ranks_.rank()); }

 private:
  const NetworkTensor& own_;
  Ranks& ranks_;
  std::vector<std::string> head_names_;
};

}  // namespace headscope
