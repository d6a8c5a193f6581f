#include "headscope/model/family.h"
#include "model/bert_layout.h"

namespace headscope::families {

// DeBERTa v1: as v2, with one tensor for Q, K and V, biases of Q and V, and projections of positions of its own.
Family deberta() {
  const std::string heads = "encoder.layer.{i}.attention.self.";
  Layout layout = bert_layout("deberta.");
  layout.fusion = Fusion::kPerHead;
  layout.q = heads + "in_proj";
  layout.k = layout.v = "";
  layout.forward.q_bias = heads + "q_bias";
  layout.forward.v_bias = heads + "v_bias";
  layout.forward.relative_table = "encoder.rel_embeddings.weight";
  layout.forward.relative_key = heads + "pos_proj";
  layout.forward.relative_query = heads + "pos_q_proj";
  layout.forward.never_has = {"encoder.layer.{i}.attention.self.head_logits_proj.weight"};
  return {
      .name = "deberta",
      .model_types = {"deberta"},
      .architectures = {"DebertaFor", "DebertaModel"},
      .remark = "Q and K are what content is compared by; the products with relative positions are not part of them",
      .causal = false,
      .order = NormOrder::kPost,
      .position = PositionKind::kDisentangled,
      .forward = {.epsilon = 1e-7},
      .layouts = {layout}};
}

}  // namespace headscope::families
