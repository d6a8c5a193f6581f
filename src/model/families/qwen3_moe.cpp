#include "headscope/model/family.h"
#include "model/expert_names.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

Family qwen3_moe() {
  Layout layout = llama_layout();
  layout.q_norm = "layers.{i}.self_attn.q_norm";
  layout.forward.k_norm = "layers.{i}.self_attn.k_norm";
  layout.forward.experts = experts_in("layers.{i}.mlp");
  ForwardRules rules = llama_rules();
  rules.windows = Windows::kAll;
  rules.windows_switched = true;
  rules.window = 4096;
  rules.router = {.chosen = 8, .normalized = false, .stated = true};
  return {.name = "qwen3_moe",
          .model_types = {"qwen3_moe"},
          .architectures = {"Qwen3MoeFor", "Qwen3MoeModel"},
          .bias_key = "attention_bias",
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout},
          .gguf = GgufForm{"qwen3moe", {gguf_layout(Fusion::kNone)}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
