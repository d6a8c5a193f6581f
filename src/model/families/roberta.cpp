#include "headscope/model/family.h"
#include "model/bert_layout.h"

namespace headscope::families {

Family roberta() {
  Layout layout = bert_layout("roberta.");
  layout.unembedding = {"lm_head.decoder.weight"};
  return {.name = "roberta",
          .model_types = {"roberta"},
          .architectures = {"RobertaFor", "RobertaModel"},
          .causal = false,
          .order = NormOrder::kPost,
          .position = PositionKind::kLearnedOffset,
          .layouts = {layout}};
}

}  // namespace headscope::families
