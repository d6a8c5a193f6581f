#include "headscope/model/family.h"
#include "model/expert_names.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// GLM-4.5 and 4.6. Files have one more layer, for predicting several tokens, which is not part of the model.
Family glm4_moe() {
  Layout layout = llama_layout();
  layout.q_norm = "layers.{i}.self_attn.q_norm";
  layout.forward.k_norm = "layers.{i}.self_attn.k_norm";
  layout.forward.experts = deepseek_experts();
  Layout gguf = gguf_layout(Fusion::kNone);
  gguf.forward.mlp_norm = "blk.{i}.post_attention_norm";
  ForwardRules rules = llama_rules(1e-5);
  rules.rotary_share = 0.5;
  rules.router = {.score = RouterScore::kSigmoid, .chosen = 8, .stated = true};
  return {.name = "glm4_moe",
          .model_types = {"glm4_moe"},
          .architectures = {"Glm4MoeFor", "Glm4MoeModel"},
          .bias_key = "attention_bias",
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout},
          .gguf = GgufForm{"glm4moe", {gguf}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
