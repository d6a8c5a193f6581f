#include "headscope/model/family.h"
#include "model/llama_layout.h"

namespace headscope::families {

// LLaMA with adjacent rotary pairs.
Family helium() {
  ForwardRules rules = llama_rules(1e-8);
  rules.rotary_base = 100'000;
  return {.name = "helium",
          .model_types = {"helium"},
          .architectures = {"HeliumFor", "HeliumModel"},
          .defaults = {.head_dim = 128},
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryInterleaved,
          .forward = rules,
          .layouts = {llama_layout()}};
}

}  // namespace headscope::families
