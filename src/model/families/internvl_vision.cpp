#include "headscope/model/family.h"

namespace headscope::families {

// The image tower of InternVL. The output of the heads is scaled per channel by lambda_1. The tower of 6 billion
// parameters has other norms.
Family internvl_vision() {
  Layout layout{.prefixes = {"vision_tower.", ""},
                .q = "encoder.layer.{i}.attention.q_proj",
                .k = "encoder.layer.{i}.attention.k_proj",
                .v = "encoder.layer.{i}.attention.v_proj",
                .o = "encoder.layer.{i}.attention.projection_layer",
                .norm = "encoder.layer.{i}.layernorm_before",
                .output_scale = "encoder.layer.{i}.lambda_1",
                .always_has = {"encoder.layer.{i}.layernorm_before.bias"},
                .forward = {.positions = "embeddings.position_embeddings",
                            .patches = "embeddings.patch_embeddings.projection",
                            .leading = {"embeddings.cls_token"},
                            .mlp_norm = "encoder.layer.{i}.layernorm_after",
                            .mlp = {{.up = "encoder.layer.{i}.mlp.fc1", .down = "encoder.layer.{i}.mlp.fc2"}},
                            .mlp_scale = "encoder.layer.{i}.lambda_2",
                            .final_norm = "layernorm",
                            .never_has = {"encoder.layer.0.attention.q_norm.weight"}}};
  return {.name = "internvl_vision",
          .model_types = {"internvl_vision"},
          .architectures = {"InternVLVision"},
          .defaults = {.heads = 16},
          .modality = Modality::kImage,
          .causal = false,
          .forward = {.epsilon = 1e-6, .mean_pooling_key = "use_mean_pooling", .interpolated_positions = true},
          .layouts = {layout}};
}

}  // namespace headscope::families
