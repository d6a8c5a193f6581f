#include "headscope/model/family.h"
#include "model/vit_layout.h"

namespace headscope::families {

Family deit() {
  return {.name = "deit",
          .model_types = {"deit"},
          .architectures = {"DeiTFor", "DeiTModel"},
          .modality = Modality::kImage,
          .causal = false,
          .forward = {.epsilon = 1e-12},
          .layouts = {vit_layout("deit."), vit_layout_v5("deit.")}};
}

}  // namespace headscope::families
