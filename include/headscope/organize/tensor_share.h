#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "headscope/base/ranks.h"
#include "headscope/organize/network_tensor.h"

namespace headscope {

/// A network tensor whose heads are dealt out to ranks: each has the maps of some consecutive heads, with all their
/// queries and keys, as a tensor of its own. One rank alone has all of them.
///
/// What depends on the whole (which queries and keys there are, of which kind the maps are, whether there is a mask and
/// whether heads share it) is the same in the parts of all ranks. A rank may have no head at all.
class TensorShare {
 public:
  /// All of it is here. The tensor must outlive the share.
  TensorShare(const NetworkTensor& whole)  // NOLINT(google-explicit-constructor): a tensor is such a share
      : own_(whole), ranks_(one_rank()), head_names_(whole.head_names) {}
  /// `own` are the heads of this rank, share_of(all heads, rank, ranks), `head_names` the names of all. Tensor and
  /// ranks must outlive the share.
  TensorShare(const NetworkTensor& own, std::vector<std::string> head_names, Ranks& ranks)
      : own_(own), ranks_(ranks), head_names_(std::move(head_names)) {}

  [[nodiscard]] const NetworkTensor& own() const noexcept { return own_; }
  [[nodiscard]] Ranks& ranks() const noexcept { return ranks_; }
  /// Of all heads, whoever has them.
  [[nodiscard]] const std::vector<std::string>& head_names() const noexcept { return head_names_; }

  /// Of the whole: heads, queries, keys.
  [[nodiscard]] std::array<std::size_t, 3> extents() const noexcept { return {heads(), own_.queries(), own_.keys()}; }
  [[nodiscard]] std::size_t extent(TensorAxis axis) const noexcept { return extents()[static_cast<std::size_t>(axis)]; }
  [[nodiscard]] std::size_t heads() const noexcept { return head_names_.size(); }
  /// Entries of all heads.
  [[nodiscard]] std::size_t size() const noexcept { return heads() * own_.map_size(); }

  /// The heads that a rank has.
  [[nodiscard]] Share heads_of(std::size_t rank) const noexcept { return share_of(heads(), rank, ranks_.size()); }
  [[nodiscard]] Share own_heads() const noexcept { return heads_of(ranks_.rank()); }

 private:
  const NetworkTensor& own_;
  Ranks& ranks_;
  std::vector<std::string> head_names_;
};

}  // namespace headscope
