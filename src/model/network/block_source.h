#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "headscope/model/model.h"
#include "headscope/model/network.h"
#include "model/find_family.h"
#include "model/forward_settings.h"
#include "model/network/tensors.h"

namespace headscope {

/// What the layers of one block are resolved from: the family's names, the block's sizes, and the settings of the
/// configuration. A model has one block, or an encoder, a decoder and its cross-attention.
struct BlockSource {
  /// `match` is that of the block. Both must outlive this object.
  /// \throws Error  kUnsupported if the family, or this member of it, has no forward pass here; otherwise as
  ///                `forward_settings`.
  BlockSource(const Model& model, const FamilyMatch& match, Block block);

  const Model& model;
  const Checkpoint& checkpoint;
  const FamilyMatch& match;
  Block block;
  const Layout& layout;
  const ForwardNames& names;
  NetworkTensors tensors;
  HeadSizes sizes;    ///< Of this block.
  std::size_t first;  ///< The model's number of the block's first layer.
  std::size_t width;  ///< Of the stream.
  ForwardSettings settings;

  [[nodiscard]] bool causal() const { return block == Block::kOnly ? match.causal : block == Block::kDecoder; }
  [[nodiscard]] const LayerTensors& heads(std::size_t layer) const { return model.head_map().layers[first + layer]; }

  /// Finds a norm; nothing if `module` is empty or, unless it is required, has no tensors.
  [[nodiscard]] std::optional<StoredNorm> norm(const std::string& module, std::size_t size, bool required) const;
  /// The same of a layer. `pattern` is a module's name with {i}.
  [[nodiscard]] std::optional<StoredNorm> layer_norm(const std::string& pattern, std::size_t layer, std::size_t size,
                                                     bool required) const;
};

}  // namespace headscope
