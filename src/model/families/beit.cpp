#include "headscope/model/family.h"
#include "model/vit_layout.h"

namespace headscope::families {

// Scores have a bias by distance in rows and columns, of each layer or of all; keys have no bias. The output of the
// heads is scaled per channel by lambda_1.
Family beit() {
  Layout layout = vit_layout("beit.");
  layout.prefixes = {"beit.", "data2vec_vision.", ""};
  layout.output_scale = "encoder.layer.{i}.lambda_1";
  layout.output_scale_optional = true;
  layout.forward.leading = {"embeddings.cls_token"};
  layout.forward.mlp_scale = "encoder.layer.{i}.lambda_2";
  layout.forward.grid_bias =
      "encoder.layer.{i}.attention.attention.relative_position_bias.relative_position_bias_table";
  layout.forward.shared_grid_bias = "encoder.relative_position_bias.relative_position_bias_table";
  layout.forward.pooled_norm = "pooler.layernorm";
  layout.forward.classify = {{"classifier"}};
  return {.name = "beit",
          .model_types = {"beit", "data2vec-vision"},
          .architectures = {"Beit", "Data2VecVision"},
          .modality = Modality::kImage,
          .causal = false,
          .position = PositionKind::kGridBias,
          .forward = {.epsilon = 1e-12, .mean_pooling_key = "use_mean_pooling"},
          .layouts = {layout}};
}

}  // namespace headscope::families
