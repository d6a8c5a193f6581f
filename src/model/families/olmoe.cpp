#include "headscope/model/family.h"
#include "model/expert_names.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// Queries and keys are normalized over all heads together, like OLMo 2's, but attention reads a norm.
Family olmoe() {
  Layout layout = llama_layout();
  layout.q_norm = "layers.{i}.self_attn.q_norm";
  layout.joint_head_norms = true;
  layout.forward.k_norm = "layers.{i}.self_attn.k_norm";
  layout.forward.mlp = {};
  layout.forward.experts = experts_in("layers.{i}.mlp");
  Layout gguf = gguf_layout(Fusion::kNone);
  gguf.joint_head_norms = true;
  ForwardRules rules = llama_rules(1e-5);
  rules.clip_key = "clip_qkv";
  rules.router = {.chosen = 8, .normalized = false, .stated = true, .normalized_in_gguf = false};
  return {.name = "olmoe",
          .model_types = {"olmoe"},
          .architectures = {"OlmoeFor", "OlmoeModel"},
          .bias_key = "attention_bias",
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout},
          .gguf = GgufForm{"olmoe", {gguf}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
