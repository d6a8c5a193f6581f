#include "headscope/model/family.h"
#include "model/gguf_layout.h"

namespace headscope::families {

// One of three layers sees everything, the others half a window on each side. Layer 0 has no norm before attention: it
// reads the normalized embedding.
Family modernbert() {
  Layout layout{.prefixes = {"model.", ""},
                .fusion = Fusion::kBlocks,
                .q = "layers.{i}.attn.Wqkv",
                .o = "layers.{i}.attn.Wo",
                .norm = "layers.{i}.attn_norm",
                .first_norm = 1,
                .embedding = {"embeddings.tok_embeddings.weight"},
                .unembedding = {"decoder.weight"},
                .forward = {.embedding_norm = "embeddings.norm",
                            .mlp_norm = "layers.{i}.mlp_norm",
                            .mlp = {{.up = "layers.{i}.mlp.Wi", .down = "layers.{i}.mlp.Wo", .fused = true}},
                            .final_norm = "final_norm",
                            .transform = "head.dense",
                            .transform_norm = "head.norm",
                            .unembedding_bias = "decoder.bias"}};
  Layout gguf = gguf_layout(Fusion::kBlocks);
  gguf.first_norm = 1;
  gguf.forward.embedding_norm = "token_embd_norm";
  gguf.forward.mlp = {{.up = "blk.{i}.ffn_up", .down = "blk.{i}.ffn_down", .fused = true}};
  gguf.forward.no_unembedding = true;
  return {.name = "modernbert",
          .model_types = {"modernbert"},
          .architectures = {"ModernBertFor", "ModernBertModel"},
          .bias_key = "attention_bias",
          .remark = "layer 0 has no norm before attention, so nothing is folded into its Q, K and V",
          .causal = false,
          .position = PositionKind::kRotaryHalf,
          .forward = {.activation_keys = {"hidden_activation"},
                      .exact_gelu_before_unembedding = true,
                      .epsilon_keys = {"norm_eps"},
                      .windows = Windows::kAllButFirstOfN,
                      .window_key = "local_attention",
                      .window_pattern = 3,
                      .window = 128,
                      .rotary_base_keys = {"rope_theta", "global_rope_theta"},
                      .rotary_base = 160'000,
                      .local_rotary_base = 10'000,
                      .local_rotary_base_keys = {"local_rope_theta"}},
          .layouts = {layout},
          .gguf = GgufForm{"modern-bert", {gguf}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
