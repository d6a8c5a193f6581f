#include "headscope/model/family.h"
#include "model/bert_layout.h"

namespace headscope::families {

// RoBERTa with attention within a window, and other weights for the tokens that see everything.
Family longformer() {
  Layout layout = roberta_layout("longformer.");
  layout.always_has = {"encoder.layer.{i}.attention.self.query_global.weight"};
  return {.name = "longformer",
          .model_types = {"longformer"},
          .architectures = {"Longformer"},
          .no_forward = "tokens that attend globally have queries, keys and values of their own",
          .remark = "Q, K and V are those of local attention",
          .causal = false,
          .order = NormOrder::kPost,
          .position = PositionKind::kLearnedOffset,
          .forward = roberta_rules(),
          .layouts = {layout}};
}

}  // namespace headscope::families
