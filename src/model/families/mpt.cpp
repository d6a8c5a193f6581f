#include "headscope/model/family.h"
#include "model/gguf_layout.h"

namespace headscope::families {

Family mpt() {
  Layout layout{.prefixes = {"transformer.", ""},
                .fusion = Fusion::kBlocks,
                .q = "blocks.{i}.attn.Wqkv",
                .o = "blocks.{i}.attn.out_proj",
                .norm = "blocks.{i}.norm_1",
                .embedding = {"wte.weight"},
                .unembedding = {"lm_head.weight"},
                .never_has = {"blocks.{i}.attn.q_ln.weight"},  // qk_ln, which transformers does not run
                .forward = {.mlp_norm = "blocks.{i}.norm_2",
                            .mlp = {{.up = "blocks.{i}.ffn.up_proj", .down = "blocks.{i}.ffn.down_proj"}},
                            .final_norm = "norm_f"}};
  return {.name = "mpt",
          .model_types = {"mpt"},
          .architectures = {"Mpt", "MPT"},
          .keys = {.d_model = {"d_model"}, .layers = {"n_layers"}, .heads = {"n_heads"}},
          .position = PositionKind::kAlibi,
          .forward = {.activation_keys = {},
                      .epsilon_keys = {"layer_norm_epsilon"},
                      .clip_key = "attn_config.clip_qkv",
                      .factors = {.scores = "attn_config.softmax_scale"}},
          .layouts = {layout},
          .gguf = GgufForm{"mpt", {gguf_layout(Fusion::kBlocks)}, PositionKind::kAlibi}};
}

}  // namespace headscope::families
