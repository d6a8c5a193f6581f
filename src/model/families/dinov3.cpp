#include "headscope/model/family.h"

namespace headscope::families {

// Rotary positions by row and column of a patch; class token and registers have none. The output of the heads is scaled
// per channel by layer_scale1.
Family dinov3() {
  Layout layout{
      .prefixes = {"", "model."},
      .q = "layer.{i}.attention.q_proj",
      .k = "layer.{i}.attention.k_proj",
      .v = "layer.{i}.attention.v_proj",
      .o = "layer.{i}.attention.o_proj",
      .norm = "layer.{i}.norm1",
      .output_scale = "layer.{i}.layer_scale1.lambda1",
      .forward = {
          .patches = "embeddings.patch_embeddings",
          .leading = {"embeddings.cls_token"},
          .registers = "embeddings.register_tokens",
          .mlp_norm = "layer.{i}.norm2",
          .mlp = {{.up = "layer.{i}.mlp.up_proj", .gate = "layer.{i}.mlp.gate_proj", .down = "layer.{i}.mlp.down_proj"},
                  {.up = "layer.{i}.mlp.up_proj", .down = "layer.{i}.mlp.down_proj"}},
          .mlp_scale = "layer.{i}.layer_scale2.lambda1",
          .final_norm = "norm"}};
  return {.name = "dinov3",
          .model_types = {"dinov3_vit"},
          .architectures = {"DINOv3ViT"},
          .modality = Modality::kImage,
          .causal = false,
          .position = PositionKind::kRotaryGrid,
          .forward = {.rotary_base = 100, .rotary_grid = RotaryGrid::kCenters},
          .layouts = {layout}};
}

}  // namespace headscope::families
