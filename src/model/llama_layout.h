#pragma once

#include "headscope/model/family.h"
#include "model/expert_names.h"

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

inline constexpr const char* kOutputNormsOnly =
    "attention reads the stream without a norm, so nothing is folded into Q, K and V; the gain of the norm on its "
    "output "
    "is part of O";

/// OLMo 2 and 3: norms only on the outputs of the branches, and over the queries and keys of all heads.
[[nodiscard]] inline Layout olmo2_layout() {
  Layout layout = llama_layout();
  layout.norm = layout.forward.mlp_norm = "";
  layout.q_norm = "layers.{i}.self_attn.q_norm";
  layout.joint_head_norms = true;
  layout.output_scale = "layers.{i}.post_attention_layernorm.weight";
  layout.forward.k_norm = "layers.{i}.self_attn.k_norm";
  layout.forward.norm_after_attention = "layers.{i}.post_attention_layernorm";
  layout.forward.norm_after_mlp = "layers.{i}.post_feedforward_layernorm";
  return layout;
}

inline constexpr const char* kSharedLayers =
    "layers may use the keys and values of an earlier layer; they have no K and V of their own";

inline constexpr const char* kGatedOutput =
    "the other layers have linear attention, which has no maps; the output of each head is multiplied by a gate, which "
    "is "
    "not part of O";

/// Qwen3-Next and Qwen3.5: some layers have gated attention, the others linear attention.
[[nodiscard]] inline Layout gated_layout() {
  Layout layout = llama_layout();
  layout.hybrid = layout.query_gates = true;
  layout.norm_offset = 1;
  layout.q_norm = "layers.{i}.self_attn.q_norm";
  layout.forward.k_norm = "layers.{i}.self_attn.k_norm";
  layout.forward.experts = with_shared(experts_in("layers.{i}.mlp"), "layers.{i}.mlp.shared_expert");
  layout.forward.experts.shared_switch = "layers.{i}.mlp.shared_expert_gate";
  const std::string linear = "layers.{i}.linear_attn.";
  layout.forward.mixer = {
      .kind = MixerKind::kDelta,
      .in = {{linear + "in_proj_qkv", linear + "in_proj_z", linear + "in_proj_b", linear + "in_proj_a"},
             {linear + "in_proj_qkvz", linear + "in_proj_ba"}},
      .kernel = linear + "conv1d",
      .decay = linear + "A_log",
      .step_bias = linear + "dt_bias",
      .norm = linear + "norm",
      .out = linear + "out_proj"};
  return layout;
}

/// GLM: the gate and the other matrix of the MLP are in one tensor.
[[nodiscard]] inline Layout glm_layout() {
  Layout layout = llama_layout();
  layout.forward.mlp = {{.up = "layers.{i}.mlp.gate_up_proj", .down = "layers.{i}.mlp.down_proj", .fused = true}};
  return layout;
}

/// How LLaMA and its descendants compute.
[[nodiscard]] inline ForwardRules llama_rules(double epsilon = 1e-6) {
  return {.activation = Activation::kSilu, .epsilon_keys = {"rms_norm_eps"}, .epsilon = epsilon};
}

/// Granite: constant factors on embeddings, scores, branches and logits.
[[nodiscard]] inline ForwardRules granite_rules() {
  ForwardRules rules = llama_rules();
  rules.factors = {.embedding = "embedding_multiplier",
                   .scores = "attention_multiplier",
                   .branches = "residual_multiplier",
                   .logits = "",
                   .logits_divisor = "logits_scaling"};
  rules.score_factor = 1;
  return rules;
}

/// Qwen3-Next and Qwen3.5 rotate a quarter of a head's components.
[[nodiscard]] inline ForwardRules gated_rules(std::size_t chosen_experts) {
  ForwardRules rules = llama_rules();
  rules.router = {.chosen = chosen_experts, .stated = true};
  rules.rotary_share = 0.25;
  return rules;
}

/// GLM rotates half of a head's components.
[[nodiscard]] inline ForwardRules glm_rules() {
  ForwardRules rules = llama_rules(1.5625e-7);
  rules.rotary_share = 0.5;
  return rules;
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
