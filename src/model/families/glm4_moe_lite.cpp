#include "headscope/model/family.h"
#include "model/latent_layout.h"

namespace headscope::families {

Family glm4_moe_lite() {
  return {.name = "glm4_moe_lite",
          .model_types = {"glm4_moe_lite"},
          .architectures = {"Glm4MoeLite"},
          .bias_key = "attention_bias",
          .remark = kSharedKey,
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryInterleaved,
          .forward = latent_rules({.score = RouterScore::kSigmoid, .chosen = 4, .stated = true, .scaling = 1.8}, 1e-5),
          .layouts = latent_layouts(RouterScore::kSigmoid)};
}

}  // namespace headscope::families
