#include "headscope/model/family.h"
#include "model/vit_layout.h"

namespace headscope::families {

Family dinov2_with_registers() {
  Layout layout = vit_layout("dinov2_with_registers.");
  layout.norm = "encoder.layer.{i}.norm1";
  layout.output_scale = "encoder.layer.{i}.layer_scale1.lambda1";
  layout.forward = dinov2_forward();
  layout.forward.registers = "embeddings.register_tokens";
  return {.name = "dinov2_with_registers",
          .model_types = {"dinov2_with_registers"},
          .architectures = {"Dinov2WithRegisters"},
          .modality = Modality::kImage,
          .causal = false,
          .forward = dinov2_rules(),
          .layouts = {layout}};
}

}  // namespace headscope::families
