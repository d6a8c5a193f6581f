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

/// One metric of one role pair, as computed by one rank: the rows of its own source layers, and the descriptions of its
/// own layers' heads on both sides. Layers are indices into the selected layers.
class PairRows {
 public:
  /// All values start as NaN. The result, the selection, the ranks and the finished blocks (null: none are stored) must
  /// outlive this object.
  PairRows(Affinities& result, const HeadSizes& sizes, const HeadSelection& selection, Ranks& ranks,
           FinishedBlocks* finished);

  [[nodiscard]] Affinities& result() const noexcept { return *result_; }
  [[nodiscard]] std::size_t layers() const noexcept { return selection_->layers().size(); }
  [[nodiscard]] bool is_own(std::size_t layer) const noexcept {
    return layer_owner(layer, ranks_->size()) == ranks_->rank();
  }
  [[nodiscard]] const LayerHeads& heads(Side side) const noexcept;

  /// The affinities of an own source layer with a target layer.
  [[nodiscard]] MatrixSpan block(std::size_t source, std::size_t target);
  /// Restores the block if an earlier run finished it. Returns false otherwise.
  [[nodiscard]] bool restore(std::size_t source, std::size_t target);
  /// Stores the finished block for a later run.
  void keep(std::size_t source, std::size_t target);

  /// Whether the heads of an own layer were described, by this run or an earlier one.
  [[nodiscard]] bool is_described(Side side, std::size_t layer);
  void describe(Side side, std::size_t layer, std::span<const GramMoments> moments, std::span<const std::size_t> ranks);

  /// Gathers the rows and descriptions on rank 0; the other ranks release their rows.
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
  Matrix own_;                           // rows of own layers; unused on rank 0, which has them in the result
  std::vector<std::size_t> own_before_;  // per layer: the number of rows in own layers before it
  std::vector<bool> described_[2];       // by Side
};

}  // namespace headscope
