#include "headscope/model/family.h"
#include "model/gguf_layout.h"

namespace headscope::families {

// The GGUF converter undoes the per-head interleave.
Family bloom() {
  Layout layout{.prefixes = {"transformer.", ""},
                .fusion = Fusion::kPerHead,
                .q = "h.{i}.self_attention.query_key_value",
                .o = "h.{i}.self_attention.dense",
                .norm = "h.{i}.input_layernorm",
                .embedding = {"word_embeddings.weight"},
                .unembedding = {"lm_head.weight"},
                .forward = {.embedding_norm = "word_embeddings_layernorm",
                            .mlp_norm = "h.{i}.post_attention_layernorm",
                            .mlp = {{.up = "h.{i}.mlp.dense_h_to_4h", .down = "h.{i}.mlp.dense_4h_to_h"}},
                            .final_norm = "ln_f"}};
  Layout gguf = gguf_layout(Fusion::kBlocks);
  gguf.forward.embedding_norm = "token_embd_norm";
  return {
      .name = "bloom",
      .model_types = {"bloom"},
      .architectures = {"BloomFor", "BloomModel"},
      .keys = {.d_model = {"hidden_size", "n_embed"},
               .layers = {"n_layer", "num_hidden_layers"},
               .heads = {"n_head", "num_attention_heads"}},
      .position = PositionKind::kAlibi,
      .forward = {.activation_keys = {}, .activation = Activation::kGeluTanh, .epsilon_keys = {"layer_norm_epsilon"}},
      .layouts = {layout},
      .gguf = GgufForm{"bloom", {gguf}, PositionKind::kAlibi}};
}

}  // namespace headscope::families
