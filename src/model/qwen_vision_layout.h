#pragma once

#include "headscope/model/family.h"

namespace headscope {

/// The names of Qwen's image towers. What follows the last layer, the merger of patches, is not part of the tower.
[[nodiscard]] inline Layout qwen_vision_layout() {
  return {.prefixes = {"visual.", "model.visual."},
          .other_prefixes = false,  // timm has the same names
          .fusion = Fusion::kBlocks,
          .q = "blocks.{i}.attn.qkv",
          .o = "blocks.{i}.attn.proj",
          .norm = "blocks.{i}.norm1",
          .forward = {.patches = "patch_embed.proj", .mlp_norm = "blocks.{i}.norm2"}};
}

[[nodiscard]] inline ConfigKeys qwen_vision_keys() {
  return {.layers = {"depth"}, .heads = {"num_heads", "num_attention_heads"}};
}

[[nodiscard]] inline ForwardRules qwen_vision_rules(Activation activation) {
  return {.activation = activation, .epsilon_keys = {}, .epsilon = 1e-6, .rotary_grid = RotaryGrid::kAxes};
}

inline constexpr const char* kRowsOfPatches =
    "maps have the patches row by row, not in the order in which they are merged";

}  // namespace headscope
