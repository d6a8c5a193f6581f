#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

Family gemma2() {
  Layout layout = gemma_layout();
  ForwardRules rules = gemma_rules();
  rules.score_cap = 50;
  rules.logit_cap = 30;
  rules.windows = Windows::kEveryOther;
  return {.name = "gemma2",
          .model_types = {"gemma2"},
          .architectures = {"Gemma2For", "Gemma2Model"},
          .defaults = {.head_dim = 256},
          .bias_key = "attention_bias",
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout},
          .gguf = GgufForm{"gemma2", {gguf_gemma_layout()}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
