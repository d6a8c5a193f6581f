#include "headscope/model/family.h"
#include "model/gguf_layout.h"

namespace headscope::families {

Family gpt_neox() {
  Layout layout{.prefixes = {"gpt_neox.", ""},
                .fusion = Fusion::kPerHead,
                .q = "layers.{i}.attention.query_key_value",
                .o = "layers.{i}.attention.dense",
                .norm = "layers.{i}.input_layernorm",
                .embedding = {"embed_in.weight"},
                .unembedding = {"embed_out.weight", "lm_head.weight"}};
  return {.name = "gpt_neox",
          .model_types = {"gpt_neox"},
          .architectures = {"GPTNeoX"},
          .tied = false,
          .position = PositionKind::kRotaryHalf,
          .layouts = {layout},
          // The converter undoes the per-head interleave.
          .gguf = GgufForm{"gptneox", {gguf_layout(Fusion::kBlocks)}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
