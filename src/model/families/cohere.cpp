#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// Command R: attention and MLP read the same norm. With use_qk_norm each head has a gain of its own.
Family cohere() {
  Layout layout = llama_layout();
  layout.q_norm = "layers.{i}.self_attn.q_norm";
  layout.forward.k_norm = "layers.{i}.self_attn.k_norm";
  layout.forward.mlp_norm = "";
  Layout gguf = gguf_layout(Fusion::kNone);
  gguf.forward.mlp_norm = "";
  return {.name = "cohere",
          .model_types = {"cohere"},
          .architectures = {"CohereFor", "CohereModel"},
          .bias_key = "attention_bias",
          .position = PositionKind::kRotaryInterleaved,
          .forward = {.activation = Activation::kSilu,
                      .parallel = true,
                      .factors = {.logits = "logit_scale"},
                      .logit_factor = 0.0625,
                      .rotary_base = 500'000},
          .layouts = {layout},
          .gguf = GgufForm{"command-r", {gguf}, PositionKind::kRotaryInterleaved}};
}

}  // namespace headscope::families
