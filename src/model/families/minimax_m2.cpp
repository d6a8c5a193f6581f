#include "headscope/model/family.h"
#include "model/expert_names.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// Norms over the queries and keys of all heads. Every layer is a mixture.
Family minimax_m2() {
  const std::string block = "layers.{i}.block_sparse_moe";
  Layout layout = llama_layout();
  layout.q_norm = "layers.{i}.self_attn.q_norm";
  layout.joint_head_norms = true;
  layout.forward.k_norm = "layers.{i}.self_attn.k_norm";
  layout.forward.mlp = {};
  layout.forward.experts = mixtral_experts();
  layout.forward.experts.corrections = {block + ".e_score_correction_bias", "layers.{i}.mlp.e_score_correction_bias"};
  Layout gguf = gguf_layout(Fusion::kNone);
  gguf.joint_head_norms = true;
  ForwardRules rules = llama_rules();
  rules.rotary_base = 5'000'000;
  rules.rotary_dim = true;
  rules.router = {.score = RouterScore::kSigmoid, .chosen = 8};
  return {.name = "minimax_m2",
          .model_types = {"minimax_m2"},
          .architectures = {"MiniMaxM2"},
          .defaults = {.heads = 48, .head_dim = 128},
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout},
          .gguf = GgufForm{"minimax-m2", {gguf}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
