#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// LLaMA with an MLP without a gate. In GGUF the rows of q and k are permuted as LLaMA's.
Family arcee() {
  Layout layout = llama_layout();
  layout.forward.mlp = {{.up = "layers.{i}.mlp.up_proj", .down = "layers.{i}.mlp.down_proj"}};
  ForwardRules rules = llama_rules(1e-5);
  rules.activation = Activation::kRelu2;
  return {.name = "arcee",
          .model_types = {"arcee"},
          .architectures = {"ArceeFor", "ArceeModel"},
          .defaults = {.heads = 32},
          .bias_key = "attention_bias",
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout},
          .gguf = GgufForm{"arcee", {gguf_layout(Fusion::kNone)}, PositionKind::kRotaryInterleaved}};
}

}  // namespace headscope::families
