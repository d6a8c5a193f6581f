#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headscope/model/head_id.h"
#include "headscope/model/head_sizes.h"

namespace headscope {

/// Some heads of some layers, layer by layer: rows of a matrix of heads.
class LayerHeads {
 public:
  void add_layer(std::vector<std::size_t> heads) {
    before_.push_back(before_.back() + heads.size());
    heads_.push_back(std::move(heads));
  }

  /// Heads of the index-th chosen layer: ascending, each once, at least one.
  [[nodiscard]] const std::vector<std::size_t>& of(std::size_t index) const noexcept { return heads_[index]; }
  /// How many heads the layers before the index-th have; the number of layers is an index too.
  [[nodiscard]] std::size_t before(std::size_t index) const noexcept { return before_[index]; }
  /// Heads of the layer that has most.
  [[nodiscard]] std::size_t most() const noexcept;

 private:
  std::vector<std::vector<std::size_t>> heads_;
  std::vector<std::size_t> before_ = {0};
};

/// The layers and heads an analysis looks at, checked against a model.
class HeadSelection {
 public:
  /// `heads` are query heads of every chosen layer, `named` single query heads besides; if
  /// both are empty all heads of the layers are chosen, if `layers` is empty all layers.
  /// \throws Error  kInvalidArgument, naming a layer or head that does not exist, a KV head
  ///                or a head outside the layers.
  HeadSelection(const HeadSizes& sizes, std::span<const std::size_t> layers, std::span<const std::size_t> heads,
                std::span<const HeadId> named);

  /// Those with a chosen head, ascending.
  [[nodiscard]] const std::vector<std::size_t>& layers() const noexcept { return layers_; }
  /// Query heads, or the KV heads that they use.
  [[nodiscard]] const LayerHeads& heads(bool key_value) const noexcept { return key_value ? kv_ : query_; }

 private:
  std::vector<std::size_t> layers_;
  LayerHeads query_;
  LayerHeads kv_;
};

}  // namespace headscope
