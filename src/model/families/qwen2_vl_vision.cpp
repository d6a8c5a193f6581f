#include "headscope/model/family.h"
#include "model/qwen_vision_layout.h"

namespace headscope::families {

// The image tower of Qwen2-VL. Its hidden_size is that of the language model.
Family qwen2_vl_vision() {
  ConfigKeys keys = qwen_vision_keys();
  keys.d_model = {"embed_dim"};
  return {.name = "qwen2_vl_vision",
          .model_types = {"qwen2_vl_vision", "qwen2_vl"},
          .keys = keys,
          .no_forward = kFramesInMergedOrder,
          .modality = Modality::kImage,
          .causal = false,
          .position = PositionKind::kRotaryGrid,
          .layouts = {qwen_vision_layout()}};
}

}  // namespace headscope::families
