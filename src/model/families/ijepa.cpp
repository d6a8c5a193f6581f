#include "headscope/model/family.h"
#include "model/vit_layout.h"

namespace headscope::families {

// ViT without a class token; classifiers read the mean of the patches.
Family ijepa() {
  Layout layout = vit_layout("ijepa.");
  layout.forward.leading = {};
  return {.name = "ijepa",
          .model_types = {"ijepa"},
          .architectures = {"IJepa"},
          .modality = Modality::kImage,
          .causal = false,
          .forward = {.epsilon = 1e-12, .pooling = Pooling::kMean},
          .layouts = {layout}};
}

}  // namespace headscope::families
