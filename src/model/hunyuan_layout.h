#pragma once

#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope {

/// HunYuan's names, with and without experts.
[[nodiscard]] inline Layout hunyuan_layout() {
  Layout layout = llama_layout();
  layout.q_norm = "layers.{i}.self_attn.query_layernorm";
  layout.forward.k_norm = "layers.{i}.self_attn.key_layernorm";
  return layout;
}

[[nodiscard]] inline ForwardRules hunyuan_rules() {
  ForwardRules rules = llama_rules(1e-5);
  rules.head_norms_last = true;
  return rules;
}

}  // namespace headscope
