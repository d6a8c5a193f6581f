#include "headscope/model/family.h"
#include "model/t5_layout.h"

namespace headscope::families {

// Also Flan-T5 and T5 v1.1, whose MLP is gated.
Family t5() {
  Family family = t5_family();
  family.name = "t5";
  family.model_types = {"t5"};
  family.architectures = {"T5"};
  family.remark = "encoder and decoder: three blocks of heads";
  family.forward.scaled_output = true;
  family.gguf = GgufForm{"t5", {gguf_t5_layout()}, PositionKind::kDistanceBias};
  return family;
}

}  // namespace headscope::families
