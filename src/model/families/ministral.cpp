#include "headscope/model/family.h"
#include "model/llama_layout.h"

namespace headscope::families {

// Ministral 8B: Mistral with a window in the layers that layer_types lists.
Family ministral() {
  ForwardRules rules = llama_rules();
  rules.windows = Windows::kListed;
  rules.window = 4096;
  return {.name = "ministral",
          .model_types = {"ministral"},
          .architectures = {"MinistralFor", "MinistralModel"},
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {llama_layout()}};
}

}  // namespace headscope::families
