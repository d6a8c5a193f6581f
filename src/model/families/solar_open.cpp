#include "headscope/model/family.h"
#include "model/expert_names.h"
#include "model/llama_layout.h"

namespace headscope::families {

// LLaMA's attention, GLM-4-MoE's mixture in every layer.
Family solar_open() {
  Layout layout = llama_layout();
  layout.forward.mlp = {};
  layout.forward.experts = deepseek_experts();
  ForwardRules rules = llama_rules(1e-5);
  rules.rotary_base = 1'000'000;
  rules.router = {.score = RouterScore::kSigmoid, .chosen = 8, .stated = true};
  return {.name = "solar_open",
          .model_types = {"solar_open"},
          .architectures = {"SolarOpenFor", "SolarOpenModel"},
          .defaults = {.heads = 64, .head_dim = 128},
          .bias_key = "attention_bias",
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout}};
}

}  // namespace headscope::families
