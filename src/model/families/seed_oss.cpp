#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

Family seed_oss() {
  Layout gguf = gguf_layout(Fusion::kNone);
  gguf.forward.mlp_norm = "blk.{i}.post_attention_norm";
  return {.name = "seed_oss",
          .model_types = {"seed_oss"},
          .architectures = {"SeedOssFor", "SeedOssModel"},
          .defaults = {.head_dim = 128},
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = llama_rules(),
          .layouts = {llama_layout()},
          .gguf = GgufForm{"seed_oss", {gguf}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
