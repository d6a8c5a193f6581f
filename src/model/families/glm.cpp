#include "headscope/model/family.h"
#include "model/llama_layout.h"

namespace headscope::families {

Family glm() {
  return {.name = "glm",
          .model_types = {"glm"},
          .architectures = {"GlmFor", "GlmModel"},
          .defaults = {.head_dim = 128},
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryInterleaved,
          .forward = glm_rules(),
          .layouts = {glm_layout()}};
}

}  // namespace headscope::families
