#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

Family phi3() {
  Layout layout = llama_layout();
  layout.fusion = Fusion::kBlocks;
  layout.q = "layers.{i}.self_attn.qkv_proj";
  layout.k = layout.v = "";
  return {
      .name = "phi3",
      .model_types = {"phi3"},
      .architectures = {"Phi3For", "Phi3Model"},
      .tied = false,
      .norm = NormKind::kRmsNorm,
      .position = PositionKind::kRotaryHalf,
      .layouts = {layout},
      .gguf = GgufForm{"phi3", {gguf_layout(Fusion::kBlocks), gguf_layout(Fusion::kNone)}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
