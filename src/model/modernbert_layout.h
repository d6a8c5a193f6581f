#pragma once

#include "headscope/model/family.h"

namespace headscope {

inline constexpr const char* kFirstLayerWithoutNorm =
    "layer 0 has no norm before attention, so nothing is folded into its Q, K and V";

/// The names that ModernBERT and its decoder share. Layer 0 has no norm before attention: it reads the normalized
/// embedding.
[[nodiscard]] inline Layout modernbert_layout() {
  return {.prefixes = {"model.", ""},
          .o = "layers.{i}.attn.Wo",
          .norm = "layers.{i}.attn_norm",
          .first_norm = 1,
          .embedding = {"embeddings.tok_embeddings.weight"},
          .unembedding = {"decoder.weight"},
          .forward = {.embedding_norm = "embeddings.norm",
                      .mlp_norm = "layers.{i}.mlp_norm",
                      .mlp = {{.up = "layers.{i}.mlp.Wi", .down = "layers.{i}.mlp.Wo", .fused = true}},
                      .final_norm = "final_norm",
                      .unembedding_bias = "decoder.bias"}};
}

/// One of three layers sees everything, the others half a window on each side, or before the token.
[[nodiscard]] inline ForwardRules modernbert_rules() {
  return {.activation_keys = {"hidden_activation"},
          .exact_gelu_before_unembedding = true,
          .epsilon_keys = {"norm_eps"},
          .usual_values = {{"classifier_activation", "gelu"}},
          .windows = Windows::kAllButFirstOfN,
          .window_key = "local_attention",
          .window_pattern = 3,
          .window = 128,
          .rotary_base_keys = {"rope_theta", "global_rope_theta"},
          .rotary_base = 160'000,
          .local_rotary_base = 10'000,
          .local_rotary_base_keys = {"local_rope_theta"}};
}

}  // namespace headscope
