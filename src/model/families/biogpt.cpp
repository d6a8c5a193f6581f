#include "headscope/model/family.h"

namespace headscope::families {

// OPT's blocks with a scaled embedding.
Family biogpt() {
  Layout layout{.prefixes = {"biogpt.", ""},
                .q = "layers.{i}.self_attn.q_proj",
                .k = "layers.{i}.self_attn.k_proj",
                .v = "layers.{i}.self_attn.v_proj",
                .o = "layers.{i}.self_attn.out_proj",
                .norm = "layers.{i}.self_attn_layer_norm",
                .embedding = {"embed_tokens.weight"},
                .unembedding = {"output_projection.weight"},
                .forward = {.positions = "embed_positions.weight",
                            .mlp_norm = "layers.{i}.final_layer_norm",
                            .mlp = {{.up = "layers.{i}.fc1", .down = "layers.{i}.fc2"}},
                            .final_norm = "layer_norm"}};
  return {.name = "biogpt",
          .model_types = {"biogpt"},
          .architectures = {"BioGpt"},
          .position = PositionKind::kLearnedOffset,
          .forward = {.epsilon_keys = {}, .scaled_embedding = true, .position_offset = 2},
          .layouts = {layout}};
}

}  // namespace headscope::families
