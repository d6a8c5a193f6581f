#include "headscope/model/family.h"
#include "model/expert_names.h"
#include "model/llama_layout.h"

namespace headscope::families {

// Qwen3's attention, DeepSeek V3's mixture.
Family dots1() {
  Layout layout = llama_layout();
  layout.q_norm = "layers.{i}.self_attn.q_norm";
  layout.forward.k_norm = "layers.{i}.self_attn.k_norm";
  layout.forward.experts = deepseek_experts();
  ForwardRules rules = llama_rules();
  rules.windows = Windows::kListed;
  rules.window = 4096;
  rules.router = {.score = RouterScore::kSigmoid, .chosen = 6, .normalized = false, .stated = true};
  return {.name = "dots1",
          .model_types = {"dots1"},
          .architectures = {"Dots1For", "Dots1Model"},
          .defaults = {.heads = 32},
          .bias_key = "attention_bias",
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout}};
}

}  // namespace headscope::families
