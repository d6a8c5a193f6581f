#include "headscope/model/family.h"
#include "model/vit_layout.h"

namespace headscope::families {

Family vit() {
  return {.name = "vit",
          .model_types = {"vit", "vit_msn"},
          .architectures = {"ViTFor", "ViTModel"},
          .modality = Modality::kImage,
          .causal = false,
          .forward = {.epsilon = 1e-12},
          .layouts = {vit_layout("vit."), vit_layout_v5("vit.")}};
}

}  // namespace headscope::families
