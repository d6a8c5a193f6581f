#include "headscope/model/family.h"

namespace headscope::families {

Family distilbert() {
  Layout layout{.prefixes = {"distilbert.", ""},
                .q = "transformer.layer.{i}.attention.q_lin",
                .k = "transformer.layer.{i}.attention.k_lin",
                .v = "transformer.layer.{i}.attention.v_lin",
                .o = "transformer.layer.{i}.attention.out_lin",
                .embedding = {"embeddings.word_embeddings.weight"},
                .unembedding = {"vocab_projector.weight"}};
  return {.name = "distilbert",
          .model_types = {"distilbert"},
          .architectures = {"DistilBert"},
          .keys = {.d_model = {"dim", "hidden_size"},
                   .layers = {"n_layers", "num_hidden_layers"},
                   .heads = {"n_heads", "num_attention_heads"}},
          .causal = false,
          .order = NormOrder::kPost,
          .layouts = {layout}};
}

}  // namespace headscope::families
