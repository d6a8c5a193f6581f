#include "headscope/model/family.h"
#include "model/swin_layout.h"

namespace headscope::families {

// Windows of patches, shifted in every second layer, with a learned bias by distance; patches are merged between
// stages.
Family swin() {
  Layout layout = swin_layout("swin");
  layout.norm = "blocks.{i}.layernorm_before";
  layout.forward.mlp_norm = "blocks.{i}.layernorm_after";
  layout.forward.window_bias = "blocks.{i}.attention.self.relative_position_bias_table";
  return {.name = "swin",
          .model_types = {"swin"},
          .architectures = {"SwinFor", "SwinModel", "SwinBackbone"},
          .keys = {.d_model = {}, .layers = {}, .heads = {"num_heads"}},
          .remark = kHeadsOfOneStage,
          .modality = Modality::kImage,
          .causal = false,
          .position = PositionKind::kGridBias,
          .forward = {.pooling = Pooling::kMean,
                      .patch_windows = PatchWindowLayers::kShifted,
                      .interpolated_positions = true},
          .layouts = {layout}};
}

}  // namespace headscope::families
