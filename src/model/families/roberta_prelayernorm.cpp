#include "headscope/model/family.h"
#include "model/bert_layout.h"

namespace headscope::families {

// RoBERTa with norms before the branches.
Family roberta_prelayernorm() {
  Layout layout = roberta_layout("roberta_prelayernorm.");
  layout.norm = "encoder.layer.{i}.attention.LayerNorm";
  layout.forward.embedding_norm = "embeddings.LayerNorm";
  layout.forward.norm_after_attention = layout.forward.norm_after_mlp = "";
  layout.forward.mlp_norm = "encoder.layer.{i}.intermediate.LayerNorm";
  layout.forward.final_norm = "LayerNorm";
  return {.name = "roberta_prelayernorm",
          .model_types = {"roberta-prelayernorm"},
          .architectures = {"RobertaPreLayerNorm"},
          .causal = false,
          .position = PositionKind::kLearnedOffset,
          .forward = roberta_rules(),
          .layouts = {layout}};
}

}  // namespace headscope::families
