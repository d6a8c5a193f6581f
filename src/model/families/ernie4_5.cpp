#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

Family ernie4_5() {
  ForwardRules rules = llama_rules(1e-5);
  rules.rotary_base = 500'000;
  return {.name = "ernie4_5",
          .model_types = {"ernie4_5"},
          .architectures = {"Ernie4_5For", "Ernie4_5Model"},
          .bias_key = "use_bias",
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryInterleaved,
          .forward = rules,
          .layouts = {llama_layout()},
          .gguf = GgufForm{"ernie4_5", {gguf_layout(Fusion::kNone)}, PositionKind::kRotaryInterleaved}};
}

}  // namespace headscope::families
