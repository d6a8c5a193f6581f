#include "headscope/model/family.h"
#include "model/bert_layout.h"

namespace headscope::families {

// The embedding may be narrower than the stream. Only the generator has a language model's head.
Family electra() {
  Layout layout = bert_layout("electra.");
  layout.unembedding = {"generator_lm_head.weight"};
  layout.forward.project_in = "embeddings_project";
  layout.forward.narrow_embedding = true;
  layout.forward.transform = "generator_predictions.dense";
  layout.forward.transform_norm = "generator_predictions.LayerNorm";
  layout.forward.unembedding_bias = "generator_lm_head.bias";
  return {.name = "electra",
          .model_types = {"electra"},
          .architectures = {"ElectraFor", "ElectraModel"},
          .causal = false,
          .order = NormOrder::kPost,
          .forward = {.exact_gelu_before_unembedding = true, .epsilon = 1e-12},
          .layouts = {layout}};
}

}  // namespace headscope::families
