#include "headscope/model/family.h"
#include "model/llama_layout.h"

namespace headscope::families {

// Gemma 2 without norms on the outputs of the branches.
Family vaultgemma() {
  Layout layout = gemma_layout();
  layout.output_scale = "";
  layout.output_scale_offset = 0;
  layout.forward.norm_after_attention = layout.forward.norm_after_mlp = "";
  ForwardRules rules = gemma_rules();
  rules.score_cap = 50;
  rules.logit_cap = 30;
  rules.windows = Windows::kEveryOther;
  return {.name = "vaultgemma",
          .model_types = {"vaultgemma"},
          .architectures = {"VaultGemma"},
          .defaults = {.head_dim = 256},
          .bias_key = "attention_bias",
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout}};
}

}  // namespace headscope::families
