#include "headscope/model/family.h"
#include "model/expert_names.h"
#include "model/llama_layout.h"

namespace headscope::families {

// Phi-3.5-MoE: LayerNorm, and a router that chooses two experts one after the other.
Family phimoe() {
  Layout layout = llama_layout();
  layout.forward.mlp = {};
  layout.forward.experts = mixtral_experts("router");
  layout.forward.unembedding_bias = "lm_head.bias";
  ForwardRules rules = llama_rules(1e-5);
  rules.windows = Windows::kAll;
  rules.rotary_base = 1'000'000;
  rules.router = {.score = RouterScore::kSparseMixer};
  return {.name = "phimoe",
          .model_types = {"phimoe"},
          .architectures = {"PhimoeFor", "PhimoeModel", "PhiMoEFor"},
          .bias_key = "attention_bias",
          .tied = false,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout}};
}

}  // namespace headscope::families
