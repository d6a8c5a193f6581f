#include "headscope/model/family.h"
#include "model/llama_layout.h"
#include "model/state_space_layout.h"

namespace headscope::families {

Family bamba() {
  Layout layout = llama_layout();
  layout.hybrid = true;
  layout.forward = state_space_block();
  layout.forward.mixer = grouped_state_names("layers.{i}.mamba");
  ForwardRules rules = llama_rules(1e-5);
  rules.rotary_share = 0.5;
  return {.name = "bamba",
          .model_types = {"bamba"},
          .architectures = {"BambaFor", "BambaModel"},
          .bias_key = "attention_bias",
          .remark = kStateSpaceLayers,
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout}};
}

}  // namespace headscope::families
