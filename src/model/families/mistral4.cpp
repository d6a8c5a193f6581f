#include "headscope/model/family.h"
#include "model/latent_layout.h"

namespace headscope::families {

// Queries grow with their position.
Family mistral4() {
  ForwardRules rules = latent_rules({.chosen = 4, .stated = true});
  rules.growing_queries = true;
  return {.name = "mistral4",
          .model_types = {"mistral4"},
          .architectures = {"Mistral4For", "Mistral4Model"},
          .bias_key = "attention_bias",
          .remark = kSharedKey,
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryInterleaved,
          .forward = rules,
          .layouts = latent_layouts()};
}

}  // namespace headscope::families
