#include "headscope/model/family.h"
#include "model/bert_layout.h"

namespace headscope::families {

// ESM-2, a model of proteins: RoBERTa's names, but norms before the branches, and rotary positions.
Family esm() {
  Layout layout = roberta_layout("esm.");
  layout.norm = "encoder.layer.{i}.attention.LayerNorm";
  layout.forward.positions = layout.forward.token_types = layout.forward.embedding_norm = "";
  layout.forward.norm_after_attention = layout.forward.norm_after_mlp = "";
  layout.forward.mlp_norm = "encoder.layer.{i}.LayerNorm";
  layout.forward.final_norm = "encoder.emb_layer_norm_after";
  layout.forward.never_has = {"embeddings.layer_norm.weight"};
  return {.name = "esm",
          .model_types = {"esm"},
          .architectures = {"EsmFor", "EsmModel"},
          .causal = false,
          .position = PositionKind::kRotaryHalf,
          .forward = {.activation_keys = {}, .epsilon = 1e-12, .token_dropout = true},
          .layouts = {layout}};
}

}  // namespace headscope::families
