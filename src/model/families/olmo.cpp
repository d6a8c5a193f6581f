#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// Norms have no gain: nothing but the mean can be folded. In GGUF the rows of q and k are permuted as LLaMA's.
Family olmo() {
  Layout layout = llama_layout();
  layout.bare_norms = true;
  layout.never_has = {"layers.{i}.input_layernorm.weight"};
  ForwardRules rules = llama_rules(1e-5);
  rules.epsilon_keys = {};
  rules.clip_key = "clip_qkv";
  Layout gguf = gguf_layout(Fusion::kNone);
  gguf.bare_norms = true;
  gguf.q_norm = gguf.forward.k_norm = "";
  gguf.never_has = {"blk.{i}.attn_norm.weight"};
  return {.name = "olmo",
          .model_types = {"olmo"},
          .architectures = {"OlmoFor", "OlmoModel"},
          .bias_key = "attention_bias",
          .remark = "norms have no gain, so folding only subtracts the mean",
          .tied = false,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout},
          .gguf = GgufForm{"olmo", {gguf}, PositionKind::kRotaryInterleaved}};
}

}  // namespace headscope::families
