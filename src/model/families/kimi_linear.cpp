#include "headscope/model/family.h"
#include "model/latent_layout.h"

namespace headscope::families {

// Some layers have latent attention without positions, the others linear attention.
Family kimi_linear() {
  std::vector<Layout> layouts = latent_layouts();
  for (Layout& layout : layouts) layout.hybrid = true;
  return {.name = "kimi_linear",
          .model_types = {"kimi_linear"},
          .architectures = {"KimiLinear"},
          .bias_key = "attention_bias",
          .no_forward = "layers of another kind, Kimi Delta Attention, lie between those with attention",
          .remark = kSharedKey,
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kNone,
          .forward = latent_rules({}),
          .layouts = layouts};
}

}  // namespace headscope::families
