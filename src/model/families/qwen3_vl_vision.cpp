#include "headscope/model/family.h"
#include "model/qwen_vision_layout.h"

namespace headscope::families {

// The image tower of Qwen3-VL and Qwen3.5: learned positions besides rotary ones. What DeepStack takes from some layers
// for the language model changes nothing in the tower.
Family qwen3_vl_vision() {
  Layout layout = qwen_vision_layout();
  layout.forward.positions = "pos_embed.weight";
  layout.forward.mlp = {{.up = "blocks.{i}.mlp.linear_fc1", .down = "blocks.{i}.mlp.linear_fc2"}};
  ForwardRules rules = qwen_vision_rules(Activation::kGeluTanh);
  rules.positions_between_corners = true;
  return {.name = "qwen3_vl_vision",
          .model_types = {"qwen3_vl_vision", "qwen3_vl", "qwen3_vl_moe_vision", "qwen3_vl_moe", "qwen3_5_vision",
                          "qwen3_5_moe_vision"},
          .keys = qwen_vision_keys(),
          .remark = kRowsOfPatches,
          .modality = Modality::kImage,
          .causal = false,
          .position = PositionKind::kRotaryGrid,
          .forward = rules,
          .layouts = {layout}};
}

}  // namespace headscope::families
