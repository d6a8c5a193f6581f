#include "headscope/model/family.h"
#include "model/bert_layout.h"

namespace headscope::families {

// XLM-RoBERTa with norms before the branches.
Family xlm_roberta_xl() {
  Layout layout = bert_layout("roberta.");
  layout.norm = "encoder.layer.{i}.attention.self_attn_layer_norm";
  layout.unembedding = {"lm_head.decoder.weight"};
  layout.forward.transform = "lm_head.dense";
  layout.forward.transform_norm = "lm_head.layer_norm";
  layout.forward.unembedding_bias = "lm_head.bias";
  layout.forward.embedding_norm = "";
  layout.forward.norm_after_attention = layout.forward.norm_after_mlp = "";
  layout.forward.mlp_norm = "encoder.layer.{i}.LayerNorm";
  layout.forward.final_norm = "encoder.LayerNorm";
  return {.name = "xlm_roberta_xl",
          .model_types = {"xlm-roberta-xl"},
          .architectures = {"XLMRobertaXL"},
          .causal = false,
          .position = PositionKind::kLearnedOffset,
          .forward = {.exact_gelu_before_unembedding = true,
                      .epsilon = 1e-5,
                      .position_offset = 2,
                      .positions_skip_padding = true},
          .layouts = {layout}};
}

}  // namespace headscope::families
