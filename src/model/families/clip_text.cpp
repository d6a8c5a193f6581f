#include "headscope/model/family.h"
#include "model/clip_layout.h"

namespace headscope::families {

// CLIP's text tower, alone or next to the image tower.
Family clip_text() {
  return {.name = "clip_text",
          .model_types = {"clip_text_model", "metaclip_2_text_model"},
          .architectures = {"CLIPText", "MetaClip2Text"},
          .defaults = {.heads = 8},
          .forward = {.activation = Activation::kQuickGelu},
          .layouts = {clip_text_layout()}};
}

}  // namespace headscope::families
