#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/granite_layout.h"

namespace headscope::families {

// In GGUF the rows of q and k are permuted as LLaMA's.
Family granitemoe() {
  ForwardRules rules = granite_rules();
  rules.router = {.chosen = 8};
  return {.name = "granitemoe",
          .model_types = {"granitemoe", "granitemoeshared"},
          .architectures = {"GraniteMoeFor", "GraniteMoeModel", "GraniteMoeShared"},
          .bias_key = "attention_bias",
          .remark = "residual_multiplier, a constant, is not part of O",
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {granite_mixture_layout()},
          .gguf = GgufForm{"granitemoe", {gguf_layout(Fusion::kNone)}, PositionKind::kRotaryInterleaved}};
}

}  // namespace headscope::families
