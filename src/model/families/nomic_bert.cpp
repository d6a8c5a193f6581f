#include "headscope/model/family.h"
#include "model/gguf_layout.h"

namespace headscope::families {

// BERT with rotary positions and a gated MLP. transformers reads these files under other names.
Family nomic_bert() {
  Layout layout{.prefixes = {"nomic_bert.", "bert.", ""},
                .fusion = Fusion::kBlocks,
                .q = "encoder.layers.{i}.attn.Wqkv",
                .o = "encoder.layers.{i}.attn.out_proj",
                .embedding = {"embeddings.word_embeddings.weight"},
                .unembedding = {"cls.predictions.decoder.weight"},
                .always_has = {"encoder.layers.{i}.mlp.fc11.weight"},
                .forward = {.token_types = "embeddings.token_type_embeddings.weight",
                            .embedding_norm = "emb_ln",
                            .norm_after_attention = "encoder.layers.{i}.norm1",
                            .norm_after_mlp = "encoder.layers.{i}.norm2",
                            .mlp = {{.up = "encoder.layers.{i}.mlp.fc11",
                                     .gate = "encoder.layers.{i}.mlp.fc12",
                                     .down = "encoder.layers.{i}.mlp.fc2"}},
                            .transform = "cls.predictions.transform.dense",
                            .transform_norm = "cls.predictions.transform.layer_norm",
                            .unembedding_bias = "cls.predictions.bias"}};
  Layout gguf = gguf_post_norm_layout();
  gguf.fusion = Fusion::kBlocks;
  gguf.q = "blk.{i}.attn_qkv";
  gguf.k = gguf.v = "";
  return {.name = "nomic_bert",
          .model_types = {"nomic_bert"},
          .architectures = {"NomicBert"},
          .keys = {.d_model = {"hidden_size", "n_embd"},
                   .layers = {"num_hidden_layers", "n_layer"},
                   .heads = {"num_attention_heads", "n_head"}},
          .causal = false,
          .order = NormOrder::kPost,
          .position = PositionKind::kRotaryHalf,
          .forward = {.activation = Activation::kSilu,
                      .epsilon_keys = {"layer_norm_eps", "layer_norm_epsilon"},
                      .epsilon = 1e-12,
                      .usual_values = {{"prenorm", "false"},
                                       {"parallel_block", "false"},
                                       {"use_rms_norm", "false"},
                                       {"causal", "false"},
                                       {"rotary_emb_fraction", "1"},
                                       {"rotary_emb_interleaved", "false"},
                                       {"rotary_scaling_factor", "null"}},
                      .rotary_base_keys = {"rope_theta", "rotary_emb_base"},
                      .rotary_base = 1000},
          .layouts = {layout},
          .gguf = GgufForm{"nomic-bert", {gguf}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
