#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// LLaMA with other names of norms, and norms of queries and keys.
Family apertus() {
  Layout layout = llama_layout();
  layout.norm = "layers.{i}.attention_layernorm";
  layout.q_norm = "layers.{i}.self_attn.q_norm";
  layout.forward = {.k_norm = "layers.{i}.self_attn.k_norm", .final_norm = "norm"};
  return {.name = "apertus",
          .model_types = {"apertus"},
          .architectures = {"ApertusFor", "ApertusModel"},
          .defaults = {.heads = 32},
          .bias_key = "attention_bias",
          .no_forward = "the activation of its MLP, xIELU, has weights of its own",
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = llama_rules(1e-5),
          .layouts = {layout},
          .gguf = GgufForm{"apertus", {gguf_layout(Fusion::kNone)}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
