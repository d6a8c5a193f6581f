#include "headscope/model/family.h"
#include "model/clip_layout.h"

namespace headscope::families {

// The image tower of SigLIP 2 for images of any shape ("naflex"). The table of positions is resized to each image.
Family siglip2_vision() {
  return {.name = "siglip2_vision",
          .model_types = {"siglip2", "siglip2_vision_model"},
          .architectures = {"Siglip2Model", "Siglip2Vision", "Siglip2ForImage"},
          .defaults = {.heads = 12},
          .remark = kNoAttentionPooling,
          .modality = Modality::kImage,
          .causal = false,
          .forward = {.activation = Activation::kGeluTanh, .epsilon = 1e-6, .pooling = Pooling::kMean},
          .layouts = {siglip_layout()}};
}

}  // namespace headscope::families
