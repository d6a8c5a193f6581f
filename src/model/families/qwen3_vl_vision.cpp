#include "headscope/model/family.h"
#include "model/qwen_vision_layout.h"

namespace headscope::families {

// The image tower of Qwen3-VL and Qwen3.5.
Family qwen3_vl_vision() {
  return {.name = "qwen3_vl_vision",
          .model_types = {"qwen3_vl_vision", "qwen3_vl", "qwen3_vl_moe_vision", "qwen3_vl_moe", "qwen3_5_vision",
                          "qwen3_5_moe_vision"},
          .keys = qwen_vision_keys(),
          .no_forward = kFramesInMergedOrder,
          .modality = Modality::kImage,
          .causal = false,
          .position = PositionKind::kRotaryGrid,
          .layouts = {qwen_vision_layout()}};
}

}  // namespace headscope::families
