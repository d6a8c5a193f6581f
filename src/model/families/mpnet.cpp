#include "headscope/model/family.h"
#include "model/bert_layout.h"

namespace headscope::families {

// One learned bias by distance is added to the scores of every layer.
Family mpnet() {
  Layout layout = bert_layout("mpnet.");
  layout.q = "encoder.layer.{i}.attention.attn.q";
  layout.k = "encoder.layer.{i}.attention.attn.k";
  layout.v = "encoder.layer.{i}.attention.attn.v";
  layout.o = "encoder.layer.{i}.attention.attn.o";
  layout.unembedding = {"lm_head.decoder.weight"};
  layout.forward.token_types = "";
  layout.forward.norm_after_attention = "encoder.layer.{i}.attention.LayerNorm";
  layout.forward.relative_bias = "encoder.relative_attention_bias.weight";
  layout.forward.transform = "lm_head.dense";
  layout.forward.transform_norm = "lm_head.layer_norm";
  layout.forward.unembedding_bias = "lm_head.bias";
  return {.name = "mpnet",
          .model_types = {"mpnet"},
          .architectures = {"MPNet"},
          .causal = false,
          .order = NormOrder::kPost,
          .position = PositionKind::kRelativeBias,
          .forward = {.exact_gelu_before_unembedding = true,
                      .epsilon = 1e-12,
                      .position_offset = 2,
                      .positions_skip_padding = true},
          .layouts = {layout}};
}

}  // namespace headscope::families
