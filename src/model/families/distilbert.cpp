#include "headscope/model/family.h"

namespace headscope::families {

Family distilbert() {
  Layout layout{.prefixes = {"distilbert.", ""},
                .q = "transformer.layer.{i}.attention.q_lin",
                .k = "transformer.layer.{i}.attention.k_lin",
                .v = "transformer.layer.{i}.attention.v_lin",
                .o = "transformer.layer.{i}.attention.out_lin",
                .embedding = {"embeddings.word_embeddings.weight"},
                .unembedding = {"vocab_projector.weight"},
                .forward = {.positions = "embeddings.position_embeddings.weight",
                            .embedding_norm = "embeddings.LayerNorm",
                            .norm_after_attention = "transformer.layer.{i}.sa_layer_norm",
                            .norm_after_mlp = "transformer.layer.{i}.output_layer_norm",
                            .mlp = {{.up = "transformer.layer.{i}.ffn.lin1", .down = "transformer.layer.{i}.ffn.lin2"}},
                            .transform = "vocab_transform",
                            .transform_norm = "vocab_layer_norm",
                            .unembedding_bias = "vocab_projector.bias"}};
  return {.name = "distilbert",
          .model_types = {"distilbert"},
          .architectures = {"DistilBert"},
          .keys = {.d_model = {"dim", "hidden_size"},
                   .layers = {"n_layers", "num_hidden_layers"},
                   .heads = {"n_heads", "num_attention_heads"}},
          .causal = false,
          .order = NormOrder::kPost,
          .forward = {.activation_keys = {"activation"}, .epsilon_keys = {}, .epsilon = 1e-12},
          .layouts = {layout}};
}

}  // namespace headscope::families
