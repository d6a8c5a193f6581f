#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// The language model, alone or inside a multimodal checkpoint, whose text_config omits defaults.
Family gemma3() {
  Layout layout = gemma_layout();
  layout.prefixes = {"language_model.model.", "model.language_model.", "model.", ""};
  layout.q_norm = "layers.{i}.self_attn.q_norm";
  layout.unembedding.push_back("language_model.lm_head.weight");
  layout.forward.k_norm = "layers.{i}.self_attn.k_norm";
  ForwardRules rules = gemma_rules();
  rules.windows = Windows::kAllButEveryNth;
  rules.rotary_base = 1'000'000;
  rules.local_rotary_base = 10'000;
  return {.name = "gemma3",
          .model_types = {"gemma3_text", "gemma3"},
          .architectures = {"Gemma3For", "Gemma3Text", "Gemma3Model"},
          .nested_config = "text_config",
          .defaults = {.head_dim = 256},
          .bias_key = "attention_bias",
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout},
          .gguf = GgufForm{"gemma3", {gguf_gemma_layout()}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
