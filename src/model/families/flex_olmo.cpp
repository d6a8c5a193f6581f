#include "headscope/model/family.h"
#include "model/expert_names.h"
#include "model/llama_layout.h"

namespace headscope::families {

// OLMo 2's blocks with OLMoE's mixture: norms only on the outputs of the branches.
Family flex_olmo() {
  Layout layout = olmo2_layout();
  layout.forward.mlp = {};
  layout.forward.experts = experts_in("layers.{i}.mlp");
  ForwardRules rules = llama_rules();
  rules.rotary_base = 500'000;
  rules.router = {.chosen = 5, .normalized = false, .stated = true};
  return {.name = "flex_olmo",
          .model_types = {"flex_olmo"},
          .architectures = {"FlexOlmoFor", "FlexOlmoModel"},
          .defaults = {.heads = 32},
          .bias_key = "attention_bias",
          .remark = kOutputNormsOnly,
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout}};
}

}  // namespace headscope::families
