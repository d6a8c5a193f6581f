#include "headscope/model/family.h"
#include "model/latent_layout.h"

namespace headscope::families {

Family deepseek_v32() {
  std::vector<Layout> layouts = latent_layouts(RouterScore::kSigmoid);
  for (Layout& layout : layouts) layout.always_has = {"layers.{i}.self_attn.indexer.wk.weight"};
  return {.name = "deepseek_v32",
          .model_types = {"deepseek_v32"},
          .architectures = {"DeepseekV32"},
          .bias_key = "attention_bias",
          .no_forward = "queries attend only to the keys that an indexer selects",
          .remark = kSharedKey,
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryInterleaved,
          .forward = latent_rules({.score = RouterScore::kSigmoid, .chosen = 8, .stated = true, .scaling = 2.5}),
          .layouts = layouts};
}

}  // namespace headscope::families
