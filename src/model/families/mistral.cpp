#include "headscope/model/family.h"
#include "model/llama_layout.h"

namespace headscope::families {

// llama.cpp writes Mistral as architecture "llama".
Family mistral() {
  ForwardRules rules = llama_rules();
  rules.windows = Windows::kAll;
  rules.window = 4096;
  return {.name = "mistral",
          .model_types = {"mistral"},
          .architectures = {"MistralFor", "MistralModel"},
          .defaults = {.heads = 32},
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {llama_layout()}};
}

}  // namespace headscope::families
