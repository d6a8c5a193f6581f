#include "headscope/model/family.h"
#include "model/granite_layout.h"
#include "model/state_space_layout.h"

namespace headscope::families {

// Granite 4. Models without experts have only the MLP that all tokens use.
Family granitemoehybrid() {
  Layout layout = granite_mixture_layout();
  layout.hybrid = true;
  const ExpertNames& experts = layout.forward.experts;
  layout.forward.mlp = {{.up = experts.shared_up, .down = experts.shared_down, .fused = true}};
  layout.forward.mixer = grouped_state_names("layers.{i}.mamba");
  ForwardRules rules = granite_rules();
  rules.rotary_layers = RotaryLayers::kStated;
  rules.router = {.chosen = 2};
  return {.name = "granitemoehybrid",
          .model_types = {"granitemoehybrid"},
          .architectures = {"GraniteMoeHybrid"},
          .bias_key = "attention_bias",
          .remark =
              "the other layers are state-space models (Mamba 2), which have no maps; residual_multiplier, a "
              "constant, is not part of O",
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout}};
}

}  // namespace headscope::families
