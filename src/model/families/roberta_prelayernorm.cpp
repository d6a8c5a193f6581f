#include "headscope/model/family.h"
#include "model/bert_layout.h"

namespace headscope::families {

// RoBERTa with norms before the branches.
Family roberta_prelayernorm() {
  Layout layout = bert_layout("roberta_prelayernorm.");
  layout.norm = "encoder.layer.{i}.attention.LayerNorm";
  layout.unembedding = {"lm_head.decoder.weight"};
  layout.forward.transform = "lm_head.dense";
  layout.forward.transform_norm = "lm_head.layer_norm";
  layout.forward.unembedding_bias = "lm_head.bias";
  layout.forward.embedding_norm = "embeddings.LayerNorm";
  layout.forward.norm_after_attention = layout.forward.norm_after_mlp = "";
  layout.forward.mlp_norm = "encoder.layer.{i}.intermediate.LayerNorm";
  layout.forward.final_norm = "LayerNorm";
  return {.name = "roberta_prelayernorm",
          .model_types = {"roberta-prelayernorm"},
          .architectures = {"RobertaPreLayerNorm"},
          .causal = false,
          .position = PositionKind::kLearnedOffset,
          .forward = {.exact_gelu_before_unembedding = true,
                      .epsilon = 1e-12,
                      .position_offset = 2,
                      .positions_skip_padding = true},
          .layouts = {layout}};
}

}  // namespace headscope::families
