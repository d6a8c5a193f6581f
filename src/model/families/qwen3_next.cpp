#include "headscope/model/family.h"
#include "model/llama_layout.h"

namespace headscope::families {

// Gains are stored minus 1.
Family qwen3_next() {
  return {.name = "qwen3_next",
          .model_types = {"qwen3_next"},
          .architectures = {"Qwen3NextFor", "Qwen3NextModel"},
          .defaults = {.head_dim = 256},
          .bias_key = "attention_bias",
          .remark = kGatedOutput,
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = gated_rules(10),
          .layouts = {gated_layout()}};
}

}  // namespace headscope::families
