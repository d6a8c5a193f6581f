#include "headscope/model/family.h"
#include "model/vit_layout.h"

namespace headscope::families {

// The output of the heads is scaled per channel by layer_scale1.
Family dinov2() {
  Layout layout = vit_layout("dinov2.");
  layout.norm = "encoder.layer.{i}.norm1";
  layout.output_scale = "encoder.layer.{i}.layer_scale1.lambda1";
  layout.forward = dinov2_forward();
  return {.name = "dinov2",
          .model_types = {"dinov2"},
          .architectures = {"Dinov2Model", "Dinov2For", "Dinov2Backbone"},
          .modality = Modality::kImage,
          .causal = false,
          .forward = dinov2_rules(),
          .layouts = {layout}};
}

}  // namespace headscope::families
