#include "headscope/model/family.h"
#include "model/llama_layout.h"

namespace headscope::families {

// No positions: the state-space layers know the order.
Family jamba() {
  Layout layout = llama_layout();
  layout.hybrid = true;
  layout.forward = {.final_norm = "final_layernorm"};
  return {.name = "jamba",
          .model_types = {"jamba"},
          .architectures = {"JambaFor", "JambaModel"},
          .no_forward = "layers of another kind, state-space models, lie between those with attention",
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kNone,
          .forward = llama_rules(),
          .layouts = {layout}};
}

}  // namespace headscope::families
