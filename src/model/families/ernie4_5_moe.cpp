#include "headscope/model/family.h"
#include "model/expert_names.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

Family ernie4_5_moe() {
  Layout layout = llama_layout();
  layout.forward.experts = with_shared(experts_in("layers.{i}.mlp"), "layers.{i}.mlp.shared_experts");
  layout.forward.experts.corrections = {"layers.{i}.mlp.moe_statics.e_score_correction_bias",
                                        "layers.{i}.mlp.gate.moe_statics.e_score_correction_bias"};
  ForwardRules rules = llama_rules(1e-5);
  rules.rotary_base = 500'000;
  rules.router = {.chosen = 6};
  rules.usual_values = {{"moe_norm_min", "1e-12"}};  // the least sum of weights that they are divided by
  return {.name = "ernie4_5_moe",
          .model_types = {"ernie4_5_moe"},
          .architectures = {"Ernie4_5_Moe"},
          .bias_key = "use_bias",
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryInterleaved,
          .forward = rules,
          .layouts = {layout},
          .gguf = GgufForm{"ernie4_5-moe", {gguf_layout(Fusion::kNone)}, PositionKind::kRotaryInterleaved}};
}

}  // namespace headscope::families
