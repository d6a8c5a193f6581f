#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// Every fourth layer has no positions. In GGUF the rows of q and k are permuted as LLaMA's.
Family smollm3() {
  ForwardRules rules = llama_rules();
  rules.rotary_base = 2'000'000;
  rules.rotary_layers = RotaryLayers::kListed;
  rules.windows = Windows::kListed;
  rules.windows_switched = true;
  return {.name = "smollm3",
          .model_types = {"smollm3"},
          .architectures = {"SmolLM3For", "SmolLM3Model"},
          .bias_key = "attention_bias",
          .remark = "layers that no_rope_layers marks with 0, by default every fourth, have no positions",
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {llama_layout()},
          .gguf = GgufForm{"smollm3", {gguf_layout(Fusion::kNone)}, PositionKind::kRotaryInterleaved}};
}

}  // namespace headscope::families
