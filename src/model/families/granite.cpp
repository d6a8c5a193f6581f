#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// LLaMA with constant factors on embeddings, scores, branches and logits. In GGUF the rows of q and k are permuted as
// LLaMA's.
Family granite() {
  return {.name = "granite",
          .model_types = {"granite"},
          .architectures = {"GraniteFor", "GraniteModel"},
          .bias_key = "attention_bias",
          .remark = "residual_multiplier, a constant, is not part of O",
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = granite_rules(),
          .layouts = {llama_layout()},
          .gguf = GgufForm{.architecture = "granite",
                           .layouts = {gguf_layout(Fusion::kNone)},
                           .position = PositionKind::kRotaryInterleaved,
                           .optional_biases = true}};
}

}  // namespace headscope::families
