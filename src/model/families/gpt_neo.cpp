#include "model/gpt2_layout.h"

namespace headscope::families {

// Scores are not scaled. By default every other layer has a window.
Family gpt_neo() {
  Layout layout = gpt2_layout();
  layout.q = "h.{i}.attn.attention.q_proj";
  layout.k = "h.{i}.attn.attention.k_proj";
  layout.v = "h.{i}.attn.attention.v_proj";
  layout.o = "h.{i}.attn.attention.out_proj";
  ForwardRules rules = gpt2_rules();
  rules.unscaled = true;
  rules.windows = Windows::kAllButFirstOfN;
  rules.window_key = "window_size";
  rules.window_pattern = 2;
  rules.window = 256;
  return {.name = "gpt_neo",
          .model_types = {"gpt_neo"},
          .architectures = {"GPTNeoFor", "GPTNeoModel"},
          .keys = {.layers = {"num_layers", "num_hidden_layers"}, .heads = {"num_heads", "num_attention_heads"}},
          .always_causal = true,
          .forward = rules,
          .layouts = {layout}};
}

}  // namespace headscope::families
