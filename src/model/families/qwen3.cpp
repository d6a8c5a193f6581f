#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

Family qwen3() {
  ForwardRules rules = llama_rules();
  rules.windows = Windows::kFromLayer;
  rules.window = 4096;
  rules.rotary_bases = {{"qwen3_vl_text", 500'000}, {"qwen3_vl", 500'000}};
  Layout layout = llama_layout();
  layout.q_norm = "layers.{i}.self_attn.q_norm";
  layout.forward.k_norm = "layers.{i}.self_attn.k_norm";
  return {.name = "qwen3",
          .model_types = {"qwen3", "qwen3_vl_text", "qwen3_vl"},
          .architectures = {"Qwen3For", "Qwen3Model", "Qwen3VLFor", "Qwen3VLModel", "Qwen3VLText"},
          .defaults = {.head_dim = 128},
          .bias_key = "attention_bias",
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout},
          .gguf = GgufForm{"qwen3", {gguf_layout(Fusion::kNone)}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
