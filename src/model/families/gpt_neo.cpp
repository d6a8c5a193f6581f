#include "headscope/model/family.h"

namespace headscope::families {

// Scores are not scaled. By default every other layer has a window.
Family gpt_neo() {
  Layout layout{.prefixes = {"transformer.", ""},
                .q = "h.{i}.attn.attention.q_proj",
                .k = "h.{i}.attn.attention.k_proj",
                .v = "h.{i}.attn.attention.v_proj",
                .o = "h.{i}.attn.attention.out_proj",
                .norm = "h.{i}.ln_1",
                .embedding = {"wte.weight"},
                .unembedding = {"lm_head.weight"},
                .forward = {.positions = "wpe.weight",
                            .mlp_norm = "h.{i}.ln_2",
                            .mlp = {{.up = "h.{i}.mlp.c_fc", .down = "h.{i}.mlp.c_proj"}},
                            .final_norm = "ln_f"}};
  return {.name = "gpt_neo",
          .model_types = {"gpt_neo"},
          .architectures = {"GPTNeoFor", "GPTNeoModel"},
          .keys = {.layers = {"num_layers", "num_hidden_layers"}, .heads = {"num_heads", "num_attention_heads"}},
          .forward = {.activation_keys = {"activation_function"},
                      .activation = Activation::kGeluTanh,
                      .epsilon_keys = {"layer_norm_epsilon"},
                      .unscaled = true,
                      .windows = Windows::kAllButFirstOfN,
                      .window_key = "window_size",
                      .window_pattern = 2,
                      .window = 256},
          .layouts = {layout}};
}

}  // namespace headscope::families
