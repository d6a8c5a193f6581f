#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/io/checkpoint.h"
#include "headscope/model/block.h"
#include "headscope/model/family.h"

namespace headscope {

/// The family of a checkpoint and the layout it uses.
struct FamilyMatch {
  const Family* family;
  const Layout* layout;
  std::string prefix;  ///< Prefix of the layout's names in this file.
  PositionKind position;
  NormOrder order;
  JsonValue config;       ///< The part of config.json that describes the family; null for GGUF.
  std::string gguf_keys;  ///< Prefix of the size keys of a GGUF file; empty otherwise.
  /// The number that each layer's tensors have in the file; empty if it is the layer's own.
  std::vector<std::size_t> stored_layers = {};

  [[nodiscard]] std::size_t stored(std::size_t layer) const {
    return layer < stored_layers.size() ? stored_layers[layer] : layer;
  }
  /// The same with the layout of one block.
  [[nodiscard]] FamilyMatch of_block(Block block) const {
    FamilyMatch own = *this;
    if (block == Block::kDecoder) own.layout = &layout->decoder.at(0);
    if (block == Block::kCross) own.layout = &layout->decoder.at(1);
    return own;
  }
};

/// Determines the family by `model_type`, else by `architectures[0]`, else by tensor names that fit only one family
/// (timm); for GGUF by `general.architecture`. A given `family` overrides all of them. The tensor names must confirm
/// it.
///
/// \throws Error  kInvalidArgument if `family` is unknown; kUnsupported if the checkpoint's family is unknown or the
///                names do not fit it; the message names the families that do fit and lists the tensors that look like
///                attention.
[[nodiscard]] FamilyMatch find_family(const Checkpoint& checkpoint, std::string_view family = {});

}  // namespace headscope
