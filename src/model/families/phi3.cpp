#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

Family phi3() {
  Layout layout = llama_layout();
  layout.fusion = Fusion::kBlocks;
  layout.q = "layers.{i}.self_attn.qkv_proj";
  layout.k = layout.v = "";
  layout.forward.mlp = {{.up = "layers.{i}.mlp.gate_up_proj", .down = "layers.{i}.mlp.down_proj", .fused = true}};
  ForwardRules rules = llama_rules(1e-5);
  rules.windows = Windows::kAll;
  std::vector<Layout> gguf = {gguf_layout(Fusion::kBlocks), gguf_layout(Fusion::kNone)};
  for (Layout& form : gguf) {
    form.forward.mlp = {{.up = "blk.{i}.ffn_up", .down = "blk.{i}.ffn_down", .fused = true}};
  }
  return {.name = "phi3",
          .model_types = {"phi3"},
          .architectures = {"Phi3For", "Phi3Model"},
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout},
          .gguf = GgufForm{"phi3", gguf, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
