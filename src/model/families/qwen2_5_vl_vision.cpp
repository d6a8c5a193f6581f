#include "headscope/model/family.h"
#include "model/qwen_vision_layout.h"

namespace headscope::families {

// The image tower of Qwen2.5-VL.
Family qwen2_5_vl_vision() {
  return {.name = "qwen2_5_vl_vision",
          .model_types = {"qwen2_5_vl_vision", "qwen2_5_vl"},
          .keys = qwen_vision_keys(),
          .no_forward = "most of its layers attend within windows of the image",
          .modality = Modality::kImage,
          .causal = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryGrid,
          .forward = qwen_vision_rules(Activation::kSilu),
          .layouts = {qwen_vision_layout()}};
}

}  // namespace headscope::families
