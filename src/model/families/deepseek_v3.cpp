#include "headscope/model/family.h"
#include "model/latent_layout.h"

namespace headscope::families {

// Also Kimi K2, whose layers are those of DeepSeek V3. llama.cpp writes all families with latent attention under one
// name.
Family deepseek_v3() {
  return {.name = "deepseek_v3",
          .model_types = {"deepseek_v3", "kimi_k2"},
          .architectures = {"DeepseekV3For", "DeepseekV3Model"},
          .bias_key = "attention_bias",
          .remark = kSharedKey,
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryInterleaved,
          .forward = latent_rules({.score = RouterScore::kSigmoid, .chosen = 8, .stated = true, .scaling = 2.5}),
          .layouts = latent_layouts(RouterScore::kSigmoid),
          .gguf = GgufForm{"deepseek2", gguf_latent_layouts(), PositionKind::kRotaryInterleaved}};
}

}  // namespace headscope::families
