#pragma once

#include <string>

#include "headscope/model/family.h"

namespace headscope {

/// The names of CLIP's blocks, which its two towers share with SigLIP's.
[[nodiscard]] inline Layout clip_layout(const std::string& prefix) {
  return {.prefixes = {prefix, ""},
          .q = "encoder.layers.{i}.self_attn.q_proj",
          .k = "encoder.layers.{i}.self_attn.k_proj",
          .v = "encoder.layers.{i}.self_attn.v_proj",
          .o = "encoder.layers.{i}.self_attn.out_proj",
          .norm = "encoder.layers.{i}.layer_norm1",
          .forward = {.positions = "embeddings.position_embedding.weight",
                      .mlp_norm = "encoder.layers.{i}.layer_norm2",
                      .mlp = {{.up = "encoder.layers.{i}.mlp.fc1", .down = "encoder.layers.{i}.mlp.fc2"}}}};
}

/// The text towers of CLIP and SigLIP.
[[nodiscard]] inline Layout clip_text_layout() {
  Layout layout = clip_layout("text_model.");
  layout.embedding = {"embeddings.token_embedding.weight"};
  layout.forward.final_norm = "final_layer_norm";
  return layout;
}

/// The image tower of SigLIP.
[[nodiscard]] inline Layout siglip_layout() {
  Layout layout = clip_layout("vision_model.");
  layout.forward.patches = "embeddings.patch_embedding";
  layout.forward.final_norm = "post_layernorm";
  layout.forward.classify = {{"classifier"}};
  return layout;
}

inline constexpr const char* kNoAttentionPooling =
    "the head that pools the patches by attention is not one of the layers, so its maps and weights are not shown";

}  // namespace headscope
