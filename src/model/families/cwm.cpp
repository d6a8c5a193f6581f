#include "headscope/model/family.h"
#include "model/llama_layout.h"

namespace headscope::families {

// LLaMA with a window in three of four layers.
Family cwm() {
  ForwardRules rules = llama_rules(1e-5);
  rules.rotary_base = 1'000'000;
  rules.windows = Windows::kAllButFirstOfN;
  rules.window_pattern = 4;
  rules.window = 8192;
  return {.name = "cwm",
          .model_types = {"cwm"},
          .architectures = {"CwmFor", "CwmModel"},
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {llama_layout()}};
}

}  // namespace headscope::families
