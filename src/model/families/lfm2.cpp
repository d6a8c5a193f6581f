#include "headscope/model/family.h"
#include "model/expert_names.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// Layers of LFM2-MoE from the third on are mixtures.
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
  ExpertNames& experts = layout.forward.experts = experts_in("layers.{i}.feed_forward");
  const std::string one = "layers.{i}.feed_forward.experts.{e}.";
  experts.forms.push_back({.up = one + "w3", .gate = one + "w1", .down = one + "w2"});
  experts.corrections = {"layers.{i}.feed_forward.expert_bias"};
  experts.correction_key = "use_expert_bias";
  Layout gguf = gguf_layout(Fusion::kNone);
  gguf.hybrid = true;
  gguf.forward.mixer = {
      .in = {{"blk.{i}.shortconv.in_proj"}}, .kernel = "blk.{i}.shortconv.conv", .out = "blk.{i}.shortconv.out_proj"};
  gguf.forward.final_norm = "token_embd_norm";
  ForwardRules rules = llama_rules(1e-5);
  rules.epsilon_keys = {"norm_eps"};
  rules.rotary_base = 1'000'000;
  rules.router = {.score = RouterScore::kSigmoid, .chosen = 4, .stated = true};
  return {.name = "lfm2",
          .model_types = {"lfm2", "lfm2_moe"},
          .architectures = {"Lfm2For", "Lfm2Model", "Lfm2MoeFor", "Lfm2MoeModel"},
          .remark = "the other layers are convolutions, which have no maps",
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout},
          .gguf = GgufForm{"lfm2", {gguf}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
