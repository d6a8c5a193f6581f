#include "headscope/model/family.h"
#include "model/hunyuan_layout.h"

namespace headscope::families {

Family hunyuan_v1_dense() {
  return {.name = "hunyuan_v1_dense",
          .model_types = {"hunyuan_v1_dense"},
          .architectures = {"HunYuanDenseV1"},
          .bias_key = "attention_bias",
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = hunyuan_rules(),
          .layouts = {hunyuan_layout()},
          .gguf = GgufForm{"hunyuan-dense", {gguf_layout(Fusion::kNone)}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
