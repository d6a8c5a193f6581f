#include "headscope/model/family.h"
#include "model/llama_layout.h"

namespace headscope::families {

// The language model of Llama 3.2 Vision. Without an image, its layers with cross-attention are left out.
Family mllama() {
  Layout layout = llama_layout();
  layout.prefixes = {"language_model.model.", "model.language_model.", "model.", ""};
  layout.hybrid = true;
  layout.unembedding.push_back("language_model.lm_head.weight");
  ForwardRules rules = llama_rules(1e-5);
  rules.rotary_base = 500'000;
  return {.name = "mllama",
          .model_types = {"mllama_text_model", "mllama"},
          .architectures = {"MllamaFor", "MllamaText"},
          .nested_config = "text_config",
          .defaults = {.heads = 32},
          .remark = "the other layers attend to an image; without one the model leaves them out, and so does headscope",
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout}};
}

}  // namespace headscope::families
