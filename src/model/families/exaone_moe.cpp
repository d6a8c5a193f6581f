#include "headscope/model/family.h"
#include "model/expert_names.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// Qwen3's attention, with positions only in layers with a window, and DeepSeek V3's mixture.
Family exaone_moe() {
  Layout layout = llama_layout();
  layout.q_norm = "layers.{i}.self_attn.q_norm";
  layout.forward.k_norm = "layers.{i}.self_attn.k_norm";
  layout.forward.experts = deepseek_experts();
  layout.forward.experts.corrections.insert(layout.forward.experts.corrections.begin(),
                                            "layers.{i}.mlp.e_score_correction_bias");
  ForwardRules rules = llama_rules(1e-5);
  rules.windows = Windows::kAllButEveryNth;
  rules.window_pattern = 4;
  rules.window = 4096;
  rules.rotary_layers = RotaryLayers::kWindowed;
  rules.router = {.score = RouterScore::kSigmoid, .chosen = 8, .stated = true, .scaling = 2.5};
  return {.name = "exaone_moe",
          .model_types = {"exaone_moe"},
          .architectures = {"ExaoneMoe"},
          .defaults = {.heads = 32},
          .remark = "layers without a window, by default every fourth, have no positions",
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout},
          .gguf = GgufForm{"exaone-moe", {gguf_layout(Fusion::kNone)}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
