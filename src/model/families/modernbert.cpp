#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/modernbert_layout.h"

namespace headscope::families {

Family modernbert() {
  Layout layout = modernbert_layout();
  layout.fusion = Fusion::kBlocks;
  layout.q = "layers.{i}.attn.Wqkv";
  layout.forward.transform = "head.dense";
  layout.forward.transform_norm = "head.norm";
  Layout gguf = gguf_layout(Fusion::kBlocks);
  gguf.first_norm = 1;
  gguf.forward.embedding_norm = "token_embd_norm";
  gguf.forward.mlp = {{.up = "blk.{i}.ffn_up", .down = "blk.{i}.ffn_down", .fused = true}};
  gguf.forward.no_unembedding = true;
  return {.name = "modernbert",
          .model_types = {"modernbert"},
          .architectures = {"ModernBertFor", "ModernBertModel"},
          .bias_key = "attention_bias",
          .remark = kFirstLayerWithoutNorm,
          .causal = false,
          .position = PositionKind::kRotaryHalf,
          .forward = modernbert_rules(),
          .layouts = {layout},
          .gguf = GgufForm{"modern-bert", {gguf}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
