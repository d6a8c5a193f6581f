#include "headscope/model/family.h"
#include "model/gguf_layout.h"

namespace headscope::families {

// Three generations of the fused tensor: per KV head (40B, 180B, 11B), all queries and one KV head (7B), per head (RW).
// The GGUF converter turns all of them into [Q | K | V].
Family falcon() {
  Layout grouped{.prefixes = {"transformer.", ""},
                 .fusion = Fusion::kGrouped,
                 .when = {{"new_decoder_architecture", true, false}},
                 .q = "h.{i}.self_attention.query_key_value",
                 .o = "h.{i}.self_attention.dense",
                 .norm = "h.{i}.ln_attn",
                 .embedding = {"word_embeddings.weight"},
                 .unembedding = {"lm_head.weight"},
                 .always_has = {"h.{i}.ln_attn.weight"},
                 .forward = {.mlp_norm = "h.{i}.ln_mlp",
                             .mlp = {{.up = "h.{i}.mlp.dense_h_to_4h", .down = "h.{i}.mlp.dense_4h_to_h"}},
                             .final_norm = "ln_f"}};
  Layout one_norm = grouped;  // Falcon 2
  one_norm.norm = "h.{i}.input_layernorm";
  one_norm.always_has = {};
  one_norm.forward.mlp_norm = "h.{i}.post_attention_layernorm";
  one_norm.forward.mlp_norm_if_sequential = true;
  Layout shared = one_norm;
  shared.fusion = Fusion::kBlocks;
  shared.kv_heads = 1;
  shared.when = {{"new_decoder_architecture", false, false}, {"multi_query", true, true}};
  Layout own = one_norm;
  own.fusion = Fusion::kPerHead;
  own.when = {{"new_decoder_architecture", false, false}, {"multi_query", false, true}};
  std::vector<Layout> gguf = {gguf_layout(Fusion::kBlocks), gguf_layout(Fusion::kBlocks)};
  for (Layout& form : gguf) form.forward.mlp_norm = "";
  gguf[0].norm = "blk.{i}.attn_norm_2";
  gguf[0].always_has = {"blk.{i}.attn_norm_2.weight"};
  gguf[0].forward.mlp_norm = "blk.{i}.attn_norm";
  return {.name = "falcon",
          .model_types = {"falcon", "RefinedWeb", "RefinedWebModel"},
          .architectures = {"FalconFor", "FalconModel"},
          .keys = {.layers = {"num_hidden_layers", "n_layer"},
                   .heads = {"num_attention_heads", "n_head"},
                   .kv_heads = {"num_kv_heads", "n_head_kv"}},
          .bias_key = "bias",
          .position = PositionKind::kRotaryHalf,
          .alibi_key = "alibi",
          .forward = {.activation_keys = {"activation"},
                      .epsilon_keys = {"layer_norm_epsilon"},
                      .parallel = true,
                      .parallel_key = "parallel_attn",
                      .scaled_alibi = true},
          .layouts = {grouped, one_norm, shared, own},
          .gguf = GgufForm{"falcon", gguf, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
