#include "headscope/model/family.h"

namespace headscope::families {

// Transformer-XL, without the memory of earlier segments. With same_length a query sees as many tokens as the memory
// holds. Frequent and rare tokens have tables of different widths.
Family transfo_xl() {
  Layout layout{.prefixes = {"transformer.", ""},
                .fusion = Fusion::kBlocks,
                .q = "layers.{i}.dec_attn.qkv_net",
                .o = "layers.{i}.dec_attn.o_net",
                .forward = {.embedding_tables = "word_emb.emb_layers.{i}.weight",
                            .embedding_projections = "word_emb.emb_projs.{i}",
                            .norm_after_attention = "layers.{i}.dec_attn.layer_norm",
                            .relative_key = "layers.{i}.dec_attn.r_net",
                            .content_bias = "layers.{i}.dec_attn.r_w_bias",
                            .position_bias = "layers.{i}.dec_attn.r_r_bias",
                            .norm_after_mlp = "layers.{i}.pos_ff.layer_norm",
                            .mlp = {{.up = "layers.{i}.pos_ff.CoreNet.0", .down = "layers.{i}.pos_ff.CoreNet.3"}}}};
  return {.name = "transfo_xl",
          .model_types = {"transfo-xl"},
          .architectures = {"TransfoXL"},
          .keys = {.d_model = {"d_model"}, .layers = {"n_layer"}, .heads = {"n_head"}, .head_dim = {"d_head"}},
          .remark = "each input is one segment: no memory precedes it; the output is the last hidden state",
          .always_causal = true,
          .order = NormOrder::kPost,
          .position = PositionKind::kRelative,
          .forward = {.activation_keys = {},
                      .activation = Activation::kRelu,
                      .epsilon_keys = {"layer_norm_epsilon"},
                      .scaled_embedding = true,
                      .windows = Windows::kAll,
                      .window_key = "mem_len",
                      .window = 1600},
          .layouts = {layout}};
}

}  // namespace headscope::families
