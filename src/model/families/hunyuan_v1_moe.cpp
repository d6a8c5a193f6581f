#include "headscope/model/family.h"
#include "model/expert_names.h"
#include "model/hunyuan_layout.h"

namespace headscope::families {

Family hunyuan_v1_moe() {
  Layout layout = hunyuan_layout();
  layout.forward.experts = with_shared(experts_in("layers.{i}.mlp", "gate.wg"), "layers.{i}.mlp.shared_mlp");
  ForwardRules rules = hunyuan_rules();
  rules.router = {.chosen = 1};
  return {.name = "hunyuan_v1_moe",
          .model_types = {"hunyuan_v1_moe"},
          .architectures = {"HunYuanMoEV1"},
          .bias_key = "attention_bias",
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout},
          .gguf = GgufForm{"hunyuan-moe", {gguf_layout(Fusion::kNone)}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
