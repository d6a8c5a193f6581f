#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/base/ranks.h"
#include "headscope/relate/affinity.h"
#include "relate/head_factors.h"
#include "relate/head_selection.h"
#include "relate/layer_owner.h"

namespace headscope {

/// One metric of one pair of roles as one rank computes it: the rows of its own source layers, and what is known of its
/// own layers' heads on both sides. Layers are indices into the chosen ones.
class PairRows {
 public:
  /// Everything is NaN. The result, the selection and the options must stay.
  PairRows(Affinities& result, const HeadSizes& sizes, const HeadSelection& selection, const AffinityOptions& options);

  [[nodiscard]] Affinities& result() const noexcept { return *result_; }
  [[nodiscard]] std::size_t layers() const noexcept { return selection_->layers().size(); }
  [[nodiscard]] bool is_own(std::size_t layer) const noexcept {
    return layer_owner(layer, ranks_->size()) == ranks_->rank();
  }
  [[nodiscard]] const LayerHeads& heads(Side side) const noexcept;

  /// Where the affinities of an own source layer with a target layer are.
  [[nodiscard]] MatrixSpan block(std::size_t source, std::size_t target);
  /// Whether an earlier run has finished them: then they are there.
  [[nodiscard]] bool restore(std::size_t source, std::size_t target);
  /// They are finished.
  void keep(std::size_t source, std::size_t target);

  /// Whether the heads of an own layer have been described, by this run or an earlier one.
  [[nodiscard]] bool is_described(Side side, std::size_t layer);
  void describe(Side side, std::size_t layer, std::span<const GramMoments> moments, std::span<const std::size_t> ranks);

  /// Rank 0 gets the rows and descriptions of all; the others give theirs away.
  void gather();

 private:
  [[nodiscard]] AffinitySide& at(Side side) const noexcept {
    return side == Side::kSource ? result_->source : result_->target;
  }
  [[nodiscard]] BlockId id(std::size_t source, std::size_t target) const;
  [[nodiscard]] SideId id(Side side, std::size_t layer) const;
  [[nodiscard]] std::span<GramMoments> moments(Side side, std::size_t layer) const;
  [[nodiscard]] std::span<std::size_t> ranks(Side side, std::size_t layer) const;
  void receive(std::size_t from, std::span<const std::byte> bytes);
  [[nodiscard]] std::size_t first_row(std::size_t source) const noexcept;

  Affinities* result_;
  const HeadSelection* selection_;
  Ranks* ranks_;
  FinishedBlocks* finished_;
  bool has_moments_;
  Matrix own_;                           // rows of own layers; on rank 0 the result has them
  std::vector<std::size_t> own_before_;  // of each layer, the rows of own layers before it
  std::vector<bool> described_[2];       // by Side
};

}  // namespace headscope
