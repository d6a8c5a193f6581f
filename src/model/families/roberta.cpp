#include "headscope/model/family.h"
#include "model/bert_layout.h"

namespace headscope::families {

// XLM-RoBERTa and CamemBERT are the same under other names.
Family roberta() {
  Layout layout = roberta_layout("roberta.");
  return {
      .name = "roberta",
      .model_types = {"roberta", "xlm-roberta", "camembert", "data2vec-text"},
      .architectures = {"RobertaFor", "RobertaModel", "XLMRobertaFor", "XLMRobertaModel", "Camembert", "Data2VecText"},
      .causal = false,
      .order = NormOrder::kPost,
      .position = PositionKind::kLearnedOffset,
      .forward = roberta_rules(),
      .layouts = {layout}};
}

}  // namespace headscope::families
