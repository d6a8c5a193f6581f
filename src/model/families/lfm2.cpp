#include "headscope/model/family.h"
#include "model/llama_layout.h"

namespace headscope::families {

Family lfm2() {
  Layout layout = llama_layout();
  layout.hybrid = true;
  layout.o = "layers.{i}.self_attn.out_proj";
  layout.norm = "layers.{i}.operator_norm";
  layout.q_norm = "layers.{i}.self_attn.q_layernorm";
  layout.forward = {.k_norm = "layers.{i}.self_attn.k_layernorm",
                    .mlp_norm = "layers.{i}.ffn_norm",
                    .mlp = {{.up = "layers.{i}.feed_forward.w3",
                             .gate = "layers.{i}.feed_forward.w1",
                             .down = "layers.{i}.feed_forward.w2"}},
                    .mixer = {.in = {{"layers.{i}.conv.in_proj"}},
                              .kernel = "layers.{i}.conv.conv",
                              .out = "layers.{i}.conv.out_proj"},
                    .final_norm = "embedding_norm"};
  ForwardRules rules = llama_rules(1e-5);
  rules.epsilon_keys = {"norm_eps"};
  rules.rotary_base = 1'000'000;
  return {.name = "lfm2",
          .model_types = {"lfm2"},
          .architectures = {"Lfm2For", "Lfm2Model"},
          .remark = "the other layers are convolutions, which have no maps",
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout}};
}

}  // namespace headscope::families
