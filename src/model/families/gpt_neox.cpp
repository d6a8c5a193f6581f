#include "headscope/model/family.h"
#include "model/gguf_layout.h"

namespace headscope::families {

Family gpt_neox() {
  Layout layout{.prefixes = {"gpt_neox.", ""},
                .fusion = Fusion::kPerHead,
                .q = "layers.{i}.attention.query_key_value",
                .o = "layers.{i}.attention.dense",
                .norm = "layers.{i}.input_layernorm",
                .embedding = {"embed_in.weight"},
                .unembedding = {"embed_out.weight", "lm_head.weight"},
                .forward = {.mlp_norm = "layers.{i}.post_attention_layernorm",
                            .mlp = {{.up = "layers.{i}.mlp.dense_h_to_4h", .down = "layers.{i}.mlp.dense_4h_to_h"}},
                            .final_norm = "final_layer_norm"}};
  return {.name = "gpt_neox",
          .model_types = {"gpt_neox"},
          .architectures = {"GPTNeoX"},
          .bias_key = "attention_bias",
          .tied = false,
          .position = PositionKind::kRotaryHalf,
          .forward = {.parallel = true,
                      .parallel_key = "use_parallel_residual",
                      .rotary_base_keys = {"rope_theta", "rotary_emb_base"},
                      .rotary_share_keys = {"partial_rotary_factor", "rotary_pct"},
                      .rotary_share = 0.25},
          .layouts = {layout},
          // The converter undoes the per-head interleave.
          .gguf = GgufForm{"gptneox", {gguf_layout(Fusion::kBlocks)}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
