#pragma once

#include <vector>

#include "model/expert_names.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope {

inline constexpr const char* kSharedKey =
    "K is each head's own part; the rotary key, which all heads of a layer share, is not part of it";

/// DeepSeek's names: LLaMA's, with latent attention. Small models have one matrix for Q. Routers add a correction to
/// the scores if these are sigmoids.
[[nodiscard]] inline std::vector<Layout> latent_layouts(RouterScore score = RouterScore::kSoftmax) {
  Layout composed = llama_layout();
  composed.q = "layers.{i}.self_attn.q_b_proj";
  composed.k = composed.v = "layers.{i}.self_attn.kv_b_proj";
  composed.latent = {.q_down = "layers.{i}.self_attn.q_a_proj",
                     .q_norm = "layers.{i}.self_attn.q_a_layernorm",
                     .kv_down = "layers.{i}.self_attn.kv_a_proj_with_mqa",
                     .kv_norm = "layers.{i}.self_attn.kv_a_layernorm"};
  composed.forward.experts = deepseek_experts();
  if (score == RouterScore::kSoftmax) composed.forward.experts.corrections.clear();
  Layout plain = composed;
  plain.q = "layers.{i}.self_attn.q_proj";
  plain.latent.q_down = plain.latent.q_norm = "";
  return {composed, plain};
}

[[nodiscard]] inline std::vector<Layout> gguf_latent_layouts() {
  Layout composed = gguf_layout(Fusion::kNone);
  composed.q = "blk.{i}.attn_q_b";
  composed.k = composed.v = "blk.{i}.attn_kv_b";
  composed.q_norm = composed.forward.k_norm = "";
  composed.latent = {.q_down = "blk.{i}.attn_q_a",
                     .q_norm = "blk.{i}.attn_q_a_norm",
                     .kv_down = "blk.{i}.attn_kv_a_mqa",
                     .kv_norm = "blk.{i}.attn_kv_a_norm"};
  Layout plain = composed;
  plain.q = "blk.{i}.attn_q";
  plain.latent.q_down = plain.latent.q_norm = "";
  return {composed, plain};
}

/// Latent attention: the rotary part of queries and keys is interleaved, and YaRN scales the scores, too.
[[nodiscard]] inline ForwardRules latent_rules(const RouterRules& router, double epsilon = 1e-6) {
  ForwardRules rules = llama_rules(epsilon);
  rules.yarn_scores = true;
  rules.router = router;
  return rules;
}

}  // namespace headscope
