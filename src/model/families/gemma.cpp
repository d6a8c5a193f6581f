#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// Gains are stored minus 1; the GGUF converter has already added the 1.
Family gemma() {
  Layout layout = llama_layout();
  layout.norm_offset = 1;
  ForwardRules rules = llama_rules();
  rules.activation_keys = {"hidden_activation"};  // files still have hidden_act, but its value is wrong
  rules.activation = Activation::kGeluTanh;
  rules.scaled_embedding = true;
  return {.name = "gemma",
          .model_types = {"gemma"},
          .architectures = {"GemmaFor", "GemmaModel"},
          .defaults = {.head_dim = 256},
          .bias_key = "attention_bias",
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout},
          .gguf = GgufForm{"gemma", {gguf_layout(Fusion::kNone)}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
