#include "model/gguf_layout.h"
#include "model/gpt2_layout.h"

namespace headscope::families {

// GPT-2 with nn.Linear and one KV head. Without multi_query, each head has a block of q, k and v.
Family gpt_bigcode() {
  Layout shared = gpt2_layout();
  shared.fusion = Fusion::kBlocks;
  shared.kv_heads = 1;
  shared.when = {{"multi_query", true, true}};
  shared.q = "h.{i}.attn.c_attn";
  shared.o = "h.{i}.attn.c_proj";
  Layout own = shared;
  own.fusion = Fusion::kPerHead;
  own.kv_heads = 0;
  own.when = {{"multi_query", false, true}};
  return {.name = "gpt_bigcode",
          .model_types = {"gpt_bigcode"},
          .architectures = {"GPTBigCode"},
          .keys = gpt2_keys(),
          .forward = gpt2_rules(),
          .layouts = {shared, own},
          .gguf = GgufForm{"starcoder", {gguf_layout(Fusion::kBlocks)}, PositionKind::kLearned}};
}

}  // namespace headscope::families
