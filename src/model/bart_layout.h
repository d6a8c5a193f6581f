#pragma once

#include <utility>

#include "headscope/model/family.h"

namespace headscope {

/// The tensor names of BART. mBART, Marian and Whisper share them, except for what they do not have.
[[nodiscard]] inline Layout bart_layout() {
  const auto attention = [](const std::string& stack, const std::string& name) {
    const std::string module = stack + ".layers.{i}." + name;
    return Layout{.prefixes = {"model.", ""},
                  .q = module + ".q_proj",
                  .k = module + ".k_proj",
                  .v = module + ".v_proj",
                  .o = module + ".out_proj",
                  .norm = module + "_layer_norm"};
  };
  const auto mlp = [](const std::string& stack) {
    return std::vector<MlpNames>{{.up = stack + ".layers.{i}.fc1", .down = stack + ".layers.{i}.fc2"}};
  };
  Layout self = attention("decoder", "self_attn");
  self.embedding = {"decoder.embed_tokens.weight", "shared.weight"};
  self.forward = {.positions = "decoder.embed_positions.weight",
                  .embedding_norm = "decoder.layernorm_embedding",
                  .final_norm = "decoder.layer_norm",
                  .unembedding_bias = "final_logits_bias"};
  Layout cross = attention("decoder", "encoder_attn");
  cross.forward = {.mlp_norm = "decoder.layers.{i}.final_layer_norm", .mlp = mlp("decoder")};
  Layout layout = attention("encoder", "self_attn");
  layout.embedding = {"encoder.embed_tokens.weight", "shared.weight"};
  layout.unembedding = {"lm_head.weight", "decoder.embed_tokens.weight"};
  layout.forward = {.positions = "encoder.embed_positions.weight",
                    .embedding_norm = "encoder.layernorm_embedding",
                    .mlp_norm = "encoder.layers.{i}.final_layer_norm",
                    .mlp = mlp("encoder"),
                    .final_norm = "encoder.layer_norm"};
  layout.decoder = {self, cross};
  return layout;
}

/// The same where the norms follow the sums, and the stacks do not end with one.
[[nodiscard]] inline Layout bart_post_norm_layout() {
  Layout layout = bart_layout();
  for (Layout* one : {&layout, &layout.decoder[0], &layout.decoder[1]}) {
    one->forward.norm_after_attention = std::exchange(one->norm, "");
    one->forward.norm_after_mlp = std::exchange(one->forward.mlp_norm, "");
    one->forward.final_norm = "";
  }
  return layout;
}

/// mBART without norms of the embeddings.
[[nodiscard]] inline Layout bart_layout_without_embedding_norm() {
  Layout layout = bart_layout();
  for (Layout* one : {&layout, &layout.decoder[0]}) one->forward.embedding_norm = "";
  return layout;
}

/// What the families have in common, without layouts. The name is also the model_type.
[[nodiscard]] inline Family bart_family(const std::string& name, const std::string& architecture) {
  return {.name = name,
          .model_types = {name},
          .architectures = {architecture},
          .keys = {.d_model = {"d_model"},
                   .layers = {"encoder_layers"},
                   .heads = {"encoder_attention_heads"},
                   .decoder_layers = {"decoder_layers"},
                   .decoder_heads = {"decoder_attention_heads"}},
          .remark = "encoder and decoder: three blocks of heads",
          .causal = false,
          .position = PositionKind::kLearnedOffset,
          .forward = {.activation_keys = {"activation_function"},
                      .epsilon_keys = {},
                      .scaled_embedding_key = "scale_embedding",
                      .position_offset = 2}};
}

}  // namespace headscope
