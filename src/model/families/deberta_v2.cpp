#include "headscope/model/family.h"
#include "model/bert_layout.h"

namespace headscope::families {

// DeBERTa v2 and v3: scores are sums of products of content and relative positions.
Family deberta_v2() {
  Layout layout = bert_layout("deberta.");
  layout.q = "encoder.layer.{i}.attention.self.query_proj";
  layout.k = "encoder.layer.{i}.attention.self.key_proj";
  layout.v = "encoder.layer.{i}.attention.self.value_proj";
  layout.forward.project_in = "embeddings.embed_proj";
  layout.forward.relative_table = "encoder.rel_embeddings.weight";
  layout.forward.relative_norm = "encoder.LayerNorm";
  layout.forward.relative_key = "encoder.layer.{i}.attention.self.pos_key_proj";
  layout.forward.relative_query = "encoder.layer.{i}.attention.self.pos_query_proj";
  return {
      .name = "deberta_v2",
      .model_types = {"deberta-v2"},
      .architectures = {"DebertaV2"},
      .remark = "Q and K are what content is compared by; the products with relative positions are not part of them",
      .causal = false,
      .order = NormOrder::kPost,
      .position = PositionKind::kDisentangled,
      .forward = {.epsilon = 1e-7},
      .layouts = {layout}};
}

}  // namespace headscope::families
