#include "headscope/model/family.h"
#include "model/expert_names.h"
#include "model/llama_layout.h"

namespace headscope::families {

// llama.cpp writes Mixtral as architecture "llama".
Family mixtral() {
  Layout layout = llama_layout();
  layout.forward.mlp = {};
  layout.forward.experts = mixtral_experts();
  ForwardRules rules = llama_rules(1e-5);
  rules.windows = Windows::kAll;
  rules.rotary_base = 1'000'000;
  return {.name = "mixtral",
          .model_types = {"mixtral"},
          .architectures = {"MixtralFor", "MixtralModel"},
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout}};
}

}  // namespace headscope::families
