#include "headscope/model/family.h"
#include "model/bert_layout.h"
#include "model/gguf_layout.h"

namespace headscope::families {

// llama.cpp writes BERT, RoBERTa and DistilBERT as architecture "bert".
Family bert() {
  Layout layout = bert_layout("bert.");
  layout.forward.never_has = {"embeddings.task_type_embeddings.weight"};  // ERNIE with tasks
  return {.name = "bert",
          .model_types = {"bert", "ernie"},
          .architectures = {"BertFor", "BertModel", "BertLMHead"},
          .causal = false,
          .order = NormOrder::kPost,
          .forward = {.epsilon = 1e-12},
          .layouts = {layout},
          .gguf = GgufForm{"bert", {gguf_post_norm_layout()}, PositionKind::kLearned}};
}

}  // namespace headscope::families
