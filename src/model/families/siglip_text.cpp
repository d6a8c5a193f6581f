#include "headscope/model/family.h"
#include "model/clip_layout.h"

namespace headscope::families {

// The text tower of SigLIP and SigLIP 2. It attends in both directions, also to padding, which headscope does not add.
Family siglip_text() {
  return {.name = "siglip_text",
          .model_types = {"siglip_text_model", "siglip2_text_model"},
          .architectures = {"SiglipText", "Siglip2Text"},
          .defaults = {.heads = 12},
          .remark = "inputs are not padded to 64 tokens, as those in training were",
          .causal = false,
          .forward = {.activation = Activation::kGeluTanh, .epsilon = 1e-6},
          .layouts = {clip_text_layout()}};
}

}  // namespace headscope::families
