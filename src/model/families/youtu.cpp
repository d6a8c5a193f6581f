#include "headscope/model/family.h"
#include "model/latent_layout.h"

namespace headscope::families {

Family youtu() {
  return {.name = "youtu",
          .model_types = {"youtu"},
          .architectures = {"YoutuFor", "YoutuModel"},
          .bias_key = "attention_bias",
          .remark = kSharedKey,
          .tied = true,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryInterleaved,
          .forward = latent_rules({}),
          .layouts = latent_layouts()};
}

}  // namespace headscope::families
