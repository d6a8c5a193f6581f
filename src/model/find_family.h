#pragma once

#include <cstddef>
#include <optional>
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
  bool causal;
  JsonValue config;        ///< The part of config.json that describes the family; null for GGUF.
  std::string gguf_keys;   ///< Prefix of the size keys of a GGUF file; empty otherwise.
  std::string tower = {};  ///< "text" or "vision", if the configuration describes several towers; "stage1" etc.
  std::optional<std::size_t> stage = {};       ///< In a family with stages: the one, from 0 ...
  std::vector<std::string> other_stages = {};  ///< ... and the names of the others.
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
/// it. If the configuration describes several towers, `tower` selects one by its own `model_type`; without it, the
/// family of the whole model's `model_type` counts, else that of the text tower. In families with stages of different
/// width, such as Swin, `tower` is "stage1" etc.; without it, the stage with the most layers.
///
/// \throws Error  kInvalidArgument if `family` is unknown, or if there is no such tower; kUnsupported if the
///                checkpoint's family is unknown or the names do not fit it; the message names the families that do fit
///                and lists the tensors that look like attention.
[[nodiscard]] FamilyMatch find_family(const Checkpoint& checkpoint, std::string_view family = {},
                                      std::string_view tower = {});

}  // namespace headscope
