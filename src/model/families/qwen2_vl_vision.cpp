#include "headscope/model/family.h"
#include "model/qwen_vision_layout.h"

namespace headscope::families {

// The image tower of Qwen2-VL. Its hidden_size is that of the language model.
Family qwen2_vl_vision() {
  ConfigKeys keys = qwen_vision_keys();
  keys.d_model = {"embed_dim"};
  Layout layout = qwen_vision_layout();
  layout.forward.mlp = {{.up = "blocks.{i}.mlp.fc1", .down = "blocks.{i}.mlp.fc2"}};
  return {.name = "qwen2_vl_vision",
          .model_types = {"qwen2_vl_vision", "qwen2_vl"},
          .keys = keys,
          .remark = kRowsOfPatches,
          .modality = Modality::kImage,
          .causal = false,
          .position = PositionKind::kRotaryGrid,
          .forward = qwen_vision_rules(Activation::kQuickGelu),
          .layouts = {layout}};
}

}  // namespace headscope::families
