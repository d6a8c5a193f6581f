#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// Queries grow with their position. The language model, alone or inside Mistral 3. In GGUF the rows of q and k are
// permuted as LLaMA's.
Family ministral3() {
  Layout layout = llama_layout();
  layout.prefixes = {"language_model.model.", "model.language_model.", "model.", ""};
  layout.unembedding.push_back("language_model.lm_head.weight");
  ForwardRules rules = llama_rules(1e-5);
  rules.rotary_base = 1'000'000;
  rules.windows = Windows::kAll;
  rules.growing_queries = true;
  return {.name = "ministral3",
          .model_types = {"ministral3"},
          .architectures = {"Ministral3For", "Ministral3Model"},
          .nested_config = "text_config",
          .defaults = {.head_dim = 128},
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout},
          .gguf = GgufForm{"mistral3", {gguf_layout(Fusion::kNone)}, PositionKind::kRotaryInterleaved}};
}

}  // namespace headscope::families
