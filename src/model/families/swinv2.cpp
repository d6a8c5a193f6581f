#include "headscope/model/family.h"
#include "model/swin_layout.h"

namespace headscope::families {

// Swin with norms on the outputs of the branches, cosines as scores, and a bias that an MLP makes of the distance.
Family swinv2() {
  Layout layout = swin_layout("swinv2");
  layout.output_scale = "blocks.{i}.layernorm_before.weight";
  layout.always_has = {"blocks.{i}.attention.self.logit_scale"};
  layout.forward.norm_after_attention = "blocks.{i}.layernorm_before";
  layout.forward.norm_after_mlp = "blocks.{i}.layernorm_after";
  layout.forward.window_bias_inner = "blocks.{i}.attention.self.continuous_position_bias_mlp.0";
  layout.forward.window_bias_outer = "blocks.{i}.attention.self.continuous_position_bias_mlp.2";
  layout.forward.score_factors = "blocks.{i}.attention.self.logit_scale";
  return {
      .name = "swinv2",
      .model_types = {"swinv2"},
      .architectures = {"Swinv2For", "Swinv2Model", "Swinv2Backbone"},
      .keys = {.d_model = {}, .layers = {}, .heads = {"num_heads"}},
      .remark = kHeadsOfOneStage,
      .modality = Modality::kImage,
      .causal = false,
      .position = PositionKind::kGridBias,
      .forward = {.pooling = Pooling::kMean, .patch_windows = PatchWindowLayers::kShifted, .merging_norm_last = true},
      .layouts = {layout}};
}

}  // namespace headscope::families
