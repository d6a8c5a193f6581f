#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// In OLMo 3, three of four layers have a window, and their rotary positions are not scaled for long inputs. llama.cpp
// writes both under one architecture.
Family olmo2() {
  ForwardRules rules = llama_rules(1e-5);
  rules.windows = Windows::kAllButEveryNth;
  rules.window_pattern = 4;
  rules.rotary_base = rules.local_rotary_base = 500'000;
  rules.rotary_bases = {{"olmo2", 10'000}};
  rules.local_rotary_base_keys = {"rope_theta"};
  return {.name = "olmo2",
          .model_types = {"olmo2", "olmo3"},
          .architectures = {"Olmo2For", "Olmo2Model", "Olmo3For", "Olmo3Model"},
          .bias_key = "attention_bias",
          .remark = kOutputNormsOnly,
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {olmo2_layout()},
          .gguf = GgufForm{"olmo2", {gguf_olmo2_layout()}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
