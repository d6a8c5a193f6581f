#pragma once

#include "headscope/model/family.h"

namespace headscope {

/// LLaMA's names, which many families share.
[[nodiscard]] inline Layout llama_layout() {
  return {.prefixes = {"model.", ""},
          .q = "layers.{i}.self_attn.q_proj",
          .k = "layers.{i}.self_attn.k_proj",
          .v = "layers.{i}.self_attn.v_proj",
          .o = "layers.{i}.self_attn.o_proj",
          .norm = "layers.{i}.input_layernorm",
          .embedding = {"embed_tokens.weight"},
          .unembedding = {"lm_head.weight"},
          .forward = {.mlp_norm = "layers.{i}.post_attention_layernorm",
                      .mlp = {{.up = "layers.{i}.mlp.up_proj",
                               .gate = "layers.{i}.mlp.gate_proj",
                               .down = "layers.{i}.mlp.down_proj"}},
                      .final_norm = "norm"}};
}

/// Gemma 2 and 3: gains are stored minus 1, and post_attention_layernorm, which is the MLP's norm in other families,
/// scales the heads' output.
[[nodiscard]] inline Layout gemma_layout() {
  Layout layout = llama_layout();
  layout.norm_offset = 1;
  layout.output_scale = "layers.{i}.post_attention_layernorm.weight";
  layout.output_scale_offset = 1;
  layout.forward.norm_after_attention = "layers.{i}.post_attention_layernorm";
  layout.forward.mlp_norm = "layers.{i}.pre_feedforward_layernorm";
  layout.forward.norm_after_mlp = "layers.{i}.post_feedforward_layernorm";
  return layout;
}

/// How LLaMA and its descendants compute.
[[nodiscard]] inline ForwardRules llama_rules(double epsilon = 1e-6) {
  return {.activation = Activation::kSilu, .epsilon_keys = {"rms_norm_eps"}, .epsilon = epsilon};
}

/// Gemma 2 and 3.
[[nodiscard]] inline ForwardRules gemma_rules() {
  return {.activation_keys = {"hidden_activation"},  // files still have hidden_act, but its value is wrong
          .activation = Activation::kGeluTanh,
          .epsilon_keys = {"rms_norm_eps"},
          .epsilon = 1e-6,
          .scaled_embedding = true,
          .query_scalar = 256,
          .caps = true,
          .window = 4096};
}

}  // namespace headscope
