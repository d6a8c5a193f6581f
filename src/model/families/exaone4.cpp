#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// Norms only on the outputs of the branches. Layers without a window have no positions, unless none has a window.
Family exaone4() {
  Layout layout = olmo2_layout();
  Layout gguf = gguf_olmo2_layout();
  layout.joint_head_norms = gguf.joint_head_norms = false;
  ForwardRules rules = llama_rules(1e-5);
  rules.windows = Windows::kAllButEveryNth;
  rules.window_pattern = 4;
  rules.window = 4096;
  rules.rotary_layers = RotaryLayers::kWindowed;
  return {.name = "exaone4",
          .model_types = {"exaone4"},
          .architectures = {"Exaone4For", "Exaone4Model"},
          .remark = kOutputNormsOnly,
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout},
          .gguf = GgufForm{"exaone4", {gguf}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
