#include "headscope/model/family.h"
#include "model/llama_layout.h"

namespace headscope::families {

// llama.cpp writes Mistral as architecture "llama".
Family mistral() {
  return {.name = "mistral",
          .model_types = {"mistral"},
          .architectures = {"MistralFor", "MistralModel"},
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .layouts = {llama_layout()}};
}

}  // namespace headscope::families
