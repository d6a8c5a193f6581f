#include "headscope/model/family.h"

namespace headscope::families {

// qkv_proj holds four partitions of [q | v | k], as it was divided among four devices for training.
Family codegen() {
  Layout layout{.prefixes = {"transformer.", ""},
                .fusion = Fusion::kGrouped,
                .groups = 4,
                .value_before_key = true,
                .q = "h.{i}.attn.qkv_proj",
                .o = "h.{i}.attn.out_proj",
                .norm = "h.{i}.ln_1",
                .embedding = {"wte.weight"},
                .unembedding = {"lm_head.weight"},
                .forward = {.mlp = {{.up = "h.{i}.mlp.fc_in", .down = "h.{i}.mlp.fc_out"}},
                            .final_norm = "ln_f",
                            .unembedding_bias = "lm_head.bias"}};
  return {.name = "codegen",
          .model_types = {"codegen"},
          .architectures = {"CodeGen"},
          .keys = {.d_model = {"n_embd", "hidden_size"},
                   .layers = {"n_layer", "num_hidden_layers"},
                   .heads = {"n_head", "num_attention_heads"}},
          .tied = false,
          .position = PositionKind::kRotaryInterleaved,
          .forward = {.activation_keys = {"activation_function"},
                      .activation = Activation::kGeluTanh,
                      .epsilon_keys = {"layer_norm_epsilon"},
                      .parallel = true,
                      .rotary_width = 64},
          .layouts = {layout}};
}

}  // namespace headscope::families
