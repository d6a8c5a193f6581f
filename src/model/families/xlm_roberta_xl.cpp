#include "headscope/model/family.h"
#include "model/bert_layout.h"

namespace headscope::families {

// XLM-RoBERTa with norms before the branches.
Family xlm_roberta_xl() {
  Layout layout = roberta_layout("roberta.");
  layout.norm = "encoder.layer.{i}.attention.self_attn_layer_norm";
  layout.forward.embedding_norm = "";
  layout.forward.norm_after_attention = layout.forward.norm_after_mlp = "";
  layout.forward.mlp_norm = "encoder.layer.{i}.LayerNorm";
  layout.forward.final_norm = "encoder.LayerNorm";
  return {.name = "xlm_roberta_xl",
          .model_types = {"xlm-roberta-xl"},
          .architectures = {"XLMRobertaXL"},
          .causal = false,
          .position = PositionKind::kLearnedOffset,
          .forward = roberta_rules(1e-5),
          .layouts = {layout}};
}

}  // namespace headscope::families
