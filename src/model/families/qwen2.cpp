#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

Family qwen2() {
  ForwardRules rules = llama_rules();
  rules.windows = Windows::kFromLayer;
  rules.window = 4096;
  for (const char* type : {"qwen2_vl_text", "qwen2_vl", "qwen2_5_vl_text", "qwen2_5_vl"}) {
    rules.rotary_bases.emplace_back(type, 1'000'000);
  }
  return {.name = "qwen2",
          .model_types = {"qwen2", "qwen2_vl_text", "qwen2_vl", "qwen2_5_vl_text", "qwen2_5_vl"},
          .architectures = {"Qwen2For", "Qwen2Model", "Qwen2VL", "Qwen2_5_VL"},
          .defaults = {.heads = 32},
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {llama_layout()},
          .gguf = GgufForm{"qwen2", {gguf_layout(Fusion::kNone)}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
