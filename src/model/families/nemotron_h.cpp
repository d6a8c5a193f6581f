#include "headscope/model/family.h"
#include "model/expert_names.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"
#include "model/state_space_layout.h"

namespace headscope::families {

// A layer is one of attention, a state-space model, an MLP and a mixture. No positions: the state-space models know the
// order. Neither MLPs nor experts have gates.
Family nemotron_h() {
  const std::string block = "layers.{i}.mixer";
  Layout layout = llama_layout();
  layout.prefixes = {"backbone.", "model.", ""};
  layout.hybrid = layout.one_branch = true;
  layout.q = block + ".q_proj";
  layout.k = block + ".k_proj";
  layout.v = block + ".v_proj";
  layout.o = block + ".o_proj";
  layout.norm = "layers.{i}.norm";
  layout.embedding = {"embeddings.weight", "embed_tokens.weight"};
  layout.forward = {.mlp = {{.up = block + ".up_proj", .down = block + ".down_proj"}},
                    .mixer = grouped_state_names(block),
                    .final_norm = "norm_f",
                    .never_has = {"layers.{i}.mixer.fc1_latent_proj.weight"}};
  ExpertNames& experts = layout.forward.experts;
  experts = with_shared(experts_in(block), block + ".shared_experts");
  experts.corrections = {block + ".gate.e_score_correction_bias"};
  experts.forms = {{.up = block + ".experts.{e}.up_proj", .down = block + ".experts.{e}.down_proj"},
                   {.up = block + ".experts.up_proj", .down = block + ".experts.down_proj"}};
  experts.shared_gate = "";
  Layout gguf = gguf_layout(Fusion::kNone);
  gguf.hybrid = gguf.one_branch = true;
  gguf.forward.mixer = gguf_grouped_state_names();
  ForwardRules rules = llama_rules(1e-5);
  rules.activation_keys = {"mlp_hidden_act"};
  rules.activation = Activation::kRelu2;
  rules.epsilon_keys = {"layer_norm_epsilon"};
  rules.state_groups = 8;
  rules.states_normed_by_group = true;
  rules.min_state_step = 0.001;
  rules.router = {.score = RouterScore::kSigmoid, .chosen = 2, .stated = true};
  return {.name = "nemotron_h",
          .model_types = {"nemotron_h"},
          .architectures = {"NemotronH"},
          .defaults = {.heads = 32, .head_dim = 128},
          .bias_key = "attention_bias",
          .remark = "the other layers are state-space models (Mamba 2), MLPs and mixtures, which have no maps",
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kNone,
          .forward = rules,
          .layouts = {layout},
          .gguf = GgufForm{"nemotron_h", {gguf}, PositionKind::kNone}};
}

}  // namespace headscope::families
