#include "headscope/model/family.h"
#include "model/vit_layout.h"

namespace headscope::families {

// The encoder, with all patches; the decoder is ignored.
Family vit_mae() {
  return {.name = "vit_mae",
          .model_types = {"vit_mae"},
          .architectures = {"ViTMAE"},
          .remark = "the encoder, without random masking: it sees all patches",
          .modality = Modality::kImage,
          .causal = false,
          .forward = {.epsilon = 1e-12},
          .layouts = {vit_layout("vit."), vit_layout_v5("vit.")}};
}

}  // namespace headscope::families
