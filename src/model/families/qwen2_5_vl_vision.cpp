#include "headscope/model/family.h"
#include "model/qwen_vision_layout.h"

namespace headscope::families {

// The image tower of Qwen2.5-VL: patches attend within windows in most layers.
Family qwen2_5_vl_vision() {
  Layout layout = qwen_vision_layout();
  layout.forward.mlp = {
      {.up = "blocks.{i}.mlp.up_proj", .gate = "blocks.{i}.mlp.gate_proj", .down = "blocks.{i}.mlp.down_proj"}};
  ForwardRules rules = qwen_vision_rules(Activation::kSilu);
  rules.patch_windows = PatchWindowLayers::kNotListed;
  return {.name = "qwen2_5_vl_vision",
          .model_types = {"qwen2_5_vl_vision", "qwen2_5_vl"},
          .keys = qwen_vision_keys(),
          .remark = kRowsOfPatches,
          .modality = Modality::kImage,
          .causal = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryGrid,
          .forward = rules,
          .layouts = {layout}};
}

}  // namespace headscope::families
