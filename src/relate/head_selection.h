#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headscope/model/head_id.h"
#include "headscope/model/head_sizes.h"

namespace headscope {

/// Selected heads of selected layers, in layer order: the rows of a matrix of heads.
class LayerHeads {
 public:
  void add_layer(std::vector<std::size_t> heads) {
    before_.push_back(before_.back() + heads.size());
    heads_.push_back(std::move(heads));
  }

  /// Heads of the index-th selected layer: ascending, unique; at least one, except that a layer may have no KV heads
  /// of its own.
  [[nodiscard]] const std::vector<std::size_t>& of(std::size_t index) const noexcept { return heads_[index]; }
  /// Number of heads in the layers before the index-th; `index` may be the number of layers.
  [[nodiscard]] std::size_t before(std::size_t index) const noexcept { return before_[index]; }
  /// Maximum number of heads in a layer.
  [[nodiscard]] std::size_t most() const noexcept;

 private:
  std::vector<std::vector<std::size_t>> heads_;
  std::vector<std::size_t> before_ = {0};
};

/// The layers and heads to analyze, checked against a model.
class HeadSelection {
 public:
  /// `heads` are query heads of every selected layer; `named` are additional individual query heads. If both are empty,
  /// all heads of the layers are selected; if `layers` is empty, all layers.
  /// \throws Error  kInvalidArgument, naming a layer or head that does not exist, a KV head, or a head outside the
  ///                layers.
  HeadSelection(const HeadSizes& sizes, std::span<const std::size_t> layers, std::span<const std::size_t> heads,
                std::span<const HeadId> named);

  /// Layers with a selected head, ascending, counted through all blocks.
  [[nodiscard]] const std::vector<std::size_t>& layers() const noexcept { return layers_; }
  /// The query heads, or the KV heads of the same layers that they use.
  [[nodiscard]] const LayerHeads& heads(bool key_value) const noexcept { return key_value ? kv_ : query_; }

 private:
  std::vector<std::size_t> layers_;
  LayerHeads query_;
  LayerHeads kv_;
};

}  // namespace headscope
