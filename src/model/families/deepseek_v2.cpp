#include "headscope/model/family.h"
#include "model/latent_layout.h"

namespace headscope::families {

Family deepseek_v2() {
  return {.name = "deepseek_v2",
          .model_types = {"deepseek_v2"},
          .architectures = {"DeepseekV2For", "DeepseekV2Model"},
          .bias_key = "attention_bias",
          .remark = kSharedKey,
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryInterleaved,
          .forward = latent_rules({.normalized = false, .best_of_group = true}),
          .layouts = latent_layouts()};
}

}  // namespace headscope::families
