#include "headscope/model/family.h"
#include "model/clip_layout.h"
#include "model/gguf_vision_layout.h"

namespace headscope::families {

// The image tower of SigLIP, of SigLIP 2 for images of a fixed size, and of PaliGemma, Gemma 3, Idefics 2 and 3 and
// SmolVLM. The last three take images of any shape; headscope takes the tiles that their processors make, of the size
// that the table of positions is for.
Family siglip_vision() {
  return {.name = "siglip_vision",
          .model_types = {"siglip", "siglip_vision_model", "idefics2_vision", "idefics3_vision", "smolvlm_vision"},
          .architectures = {"SiglipModel", "SiglipVision", "SiglipForImage"},
          .defaults = {.heads = 12},
          .remark = kNoAttentionPooling,
          .modality = Modality::kImage,
          .causal = false,
          .forward = {.activation = Activation::kGeluTanh, .epsilon = 1e-6, .pooling = Pooling::kMean},
          .layouts = {siglip_layout()},
          .gguf = GgufForm{"clip", {gguf_siglip_layout()}, PositionKind::kLearned, "clip.vision"}};
}

}  // namespace headscope::families
