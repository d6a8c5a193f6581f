#include "headscope/model/family.h"
#include "model/llama_layout.h"

namespace headscope::families {

Family lfm2() {
  Layout layout = llama_layout();
  layout.hybrid = true;
  layout.o = "layers.{i}.self_attn.out_proj";
  layout.norm = "layers.{i}.operator_norm";
  layout.q_norm = "layers.{i}.self_attn.q_layernorm";
  layout.forward = {.k_norm = "layers.{i}.self_attn.k_layernorm", .final_norm = "embedding_norm"};
  ForwardRules rules = llama_rules(1e-5);
  rules.epsilon_keys = {"norm_eps"};
  rules.rotary_base = 1'000'000;
  return {.name = "lfm2",
          .model_types = {"lfm2"},
          .architectures = {"Lfm2For", "Lfm2Model"},
          .no_forward = "layers of another kind, convolutions, lie between those with attention",
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout}};
}

}  // namespace headscope::families
