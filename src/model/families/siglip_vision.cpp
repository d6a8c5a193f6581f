#include "headscope/model/family.h"
#include "model/clip_layout.h"

namespace headscope::families {

// The image tower of SigLIP, of SigLIP 2 for images of a fixed size, and of PaliGemma and Gemma 3.
Family siglip_vision() {
  return {.name = "siglip_vision",
          .model_types = {"siglip", "siglip_vision_model"},
          .architectures = {"SiglipModel", "SiglipVision", "SiglipForImage"},
          .defaults = {.heads = 12},
          .remark = kNoAttentionPooling,
          .modality = Modality::kImage,
          .causal = false,
          .forward = {.activation = Activation::kGeluTanh, .epsilon = 1e-6, .pooling = Pooling::kMean},
          .layouts = {siglip_layout()}};
}

}  // namespace headscope::families
