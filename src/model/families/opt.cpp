#include "headscope/model/family.h"

namespace headscope::families {

Family opt() {
  Layout layout{.prefixes = {"model.decoder.", "decoder.", ""},
                .q = "layers.{i}.self_attn.q_proj",
                .k = "layers.{i}.self_attn.k_proj",
                .v = "layers.{i}.self_attn.v_proj",
                .o = "layers.{i}.self_attn.out_proj",
                .norm = "layers.{i}.self_attn_layer_norm",
                .embedding = {"embed_tokens.weight"},
                .unembedding = {"lm_head.weight"},
                .forward = {.positions = "embed_positions.weight",
                            .project_in = "project_in",
                            .project_out = "project_out",
                            .mlp_norm = "layers.{i}.final_layer_norm",
                            .mlp = {{.up = "layers.{i}.fc1", .down = "layers.{i}.fc2"}},
                            .final_norm = "final_layer_norm"}};
  return {.name = "opt",
          .model_types = {"opt"},
          .architectures = {"OPTFor", "OPTModel"},
          .pre_norm_key = "do_layer_norm_before",
          .position = PositionKind::kLearnedOffset,
          .forward = {.activation_keys = {"activation_function"},
                      .activation = Activation::kRelu,
                      .epsilon_keys = {},
                      .position_offset = 2},
          .layouts = {layout}};
}

}  // namespace headscope::families
