#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// LLaMA with other names of norms, and norms of queries and keys.
Family apertus() {
  Layout layout = llama_layout();
  layout.norm = "layers.{i}.attention_layernorm";
  layout.q_norm = "layers.{i}.self_attn.q_norm";
  layout.forward.k_norm = "layers.{i}.self_attn.k_norm";
  layout.forward.mlp_norm = "layers.{i}.feedforward_layernorm";
  layout.forward.mlp = {{.up = "layers.{i}.mlp.up_proj", .down = "layers.{i}.mlp.down_proj"}};
  layout.forward.activation_weights = "layers.{i}.mlp.act_fn.";
  Layout gguf = gguf_layout(Fusion::kNone);
  gguf.forward.activation_weights = "xielu.";
  ForwardRules rules = llama_rules(1e-5);
  rules.activation_keys = {};  // xIELU
  rules.rotary_base = 12'000'000;
  rules.default_scaling = 8;
  return {.name = "apertus",
          .model_types = {"apertus"},
          .architectures = {"ApertusFor", "ApertusModel"},
          .defaults = {.heads = 32},
          .bias_key = "attention_bias",
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout},
          .gguf = GgufForm{"apertus", {gguf}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
