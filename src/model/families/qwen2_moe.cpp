#include "headscope/model/family.h"
#include "model/expert_names.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// Qwen1.5-MoE and Qwen2-57B-A14B: a shared expert, whose output a gate scales.
Family qwen2_moe() {
  Layout layout = llama_layout();
  layout.forward.experts = with_shared(experts_in("layers.{i}.mlp"), "layers.{i}.mlp.shared_expert");
  layout.forward.experts.shared_switch = "layers.{i}.mlp.shared_expert_gate";
  ForwardRules rules = llama_rules();
  rules.windows = Windows::kEveryOther;
  rules.windows_switched = true;
  rules.window = 4096;
  rules.router = {.chosen = 4, .normalized = false, .stated = true, .normalized_in_gguf = false};
  return {.name = "qwen2_moe",
          .model_types = {"qwen2_moe"},
          .architectures = {"Qwen2MoeFor", "Qwen2MoeModel"},
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout},
          .gguf = GgufForm{"qwen2moe", {gguf_layout(Fusion::kNone)}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
