#pragma once

#include "headscope/model/family.h"

namespace headscope {

inline constexpr const char* kFramesInMergedOrder =
    "an image is read as two frames, and its patches in the order in which they are merged, which headscope does not "
    "prepare";

/// The names of Qwen's image towers.
[[nodiscard]] inline Layout qwen_vision_layout() {
  return {.prefixes = {"visual.", "model.visual."},
          .other_prefixes = false,  // timm has the same names
          .fusion = Fusion::kBlocks,
          .q = "blocks.{i}.attn.qkv",
          .o = "blocks.{i}.attn.proj",
          .norm = "blocks.{i}.norm1"};
}

[[nodiscard]] inline ConfigKeys qwen_vision_keys() {
  return {.layers = {"depth"}, .heads = {"num_heads", "num_attention_heads"}};
}

}  // namespace headscope
