#include "headscope/model/family.h"
#include "model/bert_layout.h"

namespace headscope::families {

// One learned bias by distance is added to the scores of every layer.
Family mpnet() {
  Layout layout = roberta_layout("mpnet.");
  layout.q = "encoder.layer.{i}.attention.attn.q";
  layout.k = "encoder.layer.{i}.attention.attn.k";
  layout.v = "encoder.layer.{i}.attention.attn.v";
  layout.o = "encoder.layer.{i}.attention.attn.o";
  layout.forward.token_types = "";
  layout.forward.norm_after_attention = "encoder.layer.{i}.attention.LayerNorm";
  layout.forward.relative_bias = "encoder.relative_attention_bias.weight";
  return {.name = "mpnet",
          .model_types = {"mpnet"},
          .architectures = {"MPNet"},
          .causal = false,
          .order = NormOrder::kPost,
          .position = PositionKind::kRelativeBias,
          .forward = roberta_rules(),
          .layouts = {layout}};
}

}  // namespace headscope::families
