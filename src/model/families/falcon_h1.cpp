#include "headscope/model/family.h"
#include "model/llama_layout.h"
#include "model/state_space_layout.h"

namespace headscope::families {

// Every layer has attention and, beside it, a state-space model that reads the same.
Family falcon_h1() {
  Layout layout = llama_layout();
  layout.forward = state_space_block();
  layout.forward.mixer = grouped_state_names("layers.{i}.mamba");
  layout.forward.mixer.beside_attention = true;
  ForwardRules rules = llama_rules(1e-5);
  rules.factors = {.embedding = "embedding_multiplier", .logits = "lm_head_multiplier"};
  rules.factors_by_place = rules.states_normed_by_group = rules.states_normed_first = true;
  rules.states_normed = false;
  return {.name = "falcon_h1",
          .model_types = {"falcon_h1"},
          .architectures = {"FalconH1For", "FalconH1Model"},
          .bias_key = "attention_bias",
          .remark =
              "beside attention, each layer has a state-space model (Mamba 2), which has no maps; constant "
              "factors are not part of Q, K, V and O",
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout}};
}

}  // namespace headscope::families
