#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// In GGUF the rows of q and k are permuted within each head, so that rotary pairs are adjacent. Mistral is written
// under the same architecture name.
Family llama() {
  return {.name = "llama",
          .model_types = {"llama"},
          .architectures = {"LlamaFor", "LlamaModel"},
          .typical = true,
          .defaults = {.heads = 32},
          .bias_key = "attention_bias",
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = llama_rules(),
          .layouts = {llama_layout()},
          .gguf = GgufForm{.architecture = "llama",
                           .layouts = {gguf_layout(Fusion::kNone)},
                           .position = PositionKind::kRotaryInterleaved,
                           .optional_biases = true}};
}

}  // namespace headscope::families
