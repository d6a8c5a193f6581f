#include "headscope/model/family.h"
#include "model/llama_layout.h"

namespace headscope::families {

// LLaMA's blocks in both directions.
Family eurobert() {
  ForwardRules rules = llama_rules(1e-5);
  rules.rotary_base = 250'000;
  return {.name = "eurobert",
          .model_types = {"eurobert"},
          .architectures = {"EuroBert"},
          .bias_key = "attention_bias",
          .tied = false,
          .causal = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {llama_layout()}};
}

}  // namespace headscope::families
