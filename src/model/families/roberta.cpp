#include "headscope/model/family.h"
#include "model/bert_layout.h"

namespace headscope::families {

// XLM-RoBERTa and CamemBERT are the same under other names.
Family roberta() {
  Layout layout = bert_layout("roberta.");
  layout.unembedding = {"lm_head.decoder.weight"};
  layout.forward.transform = "lm_head.dense";
  layout.forward.transform_norm = "lm_head.layer_norm";
  layout.forward.unembedding_bias = "lm_head.bias";
  return {
      .name = "roberta",
      .model_types = {"roberta", "xlm-roberta", "camembert", "data2vec-text"},
      .architectures = {"RobertaFor", "RobertaModel", "XLMRobertaFor", "XLMRobertaModel", "Camembert", "Data2VecText"},
      .causal = false,
      .order = NormOrder::kPost,
      .position = PositionKind::kLearnedOffset,
      .forward = {.exact_gelu_before_unembedding = true,
                  .epsilon = 1e-12,
                  .position_offset = 2,
                  .positions_skip_padding = true},
      .layouts = {layout}};
}

}  // namespace headscope::families
