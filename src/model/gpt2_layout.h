#pragma once

#include <string>

#include "headscope/model/family.h"

namespace headscope {

/// GPT-2's names, without those of Q, K, V and O, which its relatives store in different ways.
[[nodiscard]] inline Layout gpt2_layout() {
  return {.prefixes = {"transformer.", ""},
          .norm = "h.{i}.ln_1",
          .embedding = {"wte.weight"},
          .unembedding = {"lm_head.weight"},
          .forward = {.positions = "wpe.weight",
                      .mlp_norm = "h.{i}.ln_2",
                      .mlp = {{.up = "h.{i}.mlp.c_fc", .down = "h.{i}.mlp.c_proj"}},
                      .final_norm = "ln_f"}};
}

/// GPT-J's: one norm for attention and MLP, and no table of positions.
[[nodiscard]] inline Layout gptj_layout() {
  Layout layout = gpt2_layout();
  layout.o = "h.{i}.attn.out_proj";
  layout.forward.positions = layout.forward.mlp_norm = "";
  layout.forward.mlp = {{.up = "h.{i}.mlp.fc_in", .down = "h.{i}.mlp.fc_out"}};
  layout.forward.unembedding_bias = "lm_head.bias";
  return layout;
}

[[nodiscard]] inline ConfigKeys gpt2_keys() {
  return {.d_model = {"n_embd", "hidden_size"},
          .layers = {"n_layer", "num_hidden_layers"},
          .heads = {"n_head", "num_attention_heads"}};
}

[[nodiscard]] inline ForwardRules gpt2_rules() {
  return {.activation_keys = {"activation_function"},
          .activation = Activation::kGeluTanh,
          .epsilon_keys = {"layer_norm_epsilon"}};
}

/// GPT-J's: attention and MLP side by side, the first 64 components rotated.
[[nodiscard]] inline ForwardRules gptj_rules() {
  ForwardRules rules = gpt2_rules();
  rules.parallel = true;
  rules.rotary_dim = true;
  rules.rotary_width = 64;
  return rules;
}

}  // namespace headscope
