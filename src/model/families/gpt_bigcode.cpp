#include "headscope/model/family.h"
#include "model/gguf_layout.h"

namespace headscope::families {

// GPT-2 with nn.Linear and one KV head. Without multi_query, each head has a block of q, k and v.
Family gpt_bigcode() {
  Layout shared{.prefixes = {"transformer.", ""},
                .fusion = Fusion::kBlocks,
                .kv_heads = 1,
                .when = {{"multi_query", true, true}},
                .q = "h.{i}.attn.c_attn",
                .o = "h.{i}.attn.c_proj",
                .norm = "h.{i}.ln_1",
                .embedding = {"wte.weight"},
                .unembedding = {"lm_head.weight"},
                .forward = {.positions = "wpe.weight",
                            .mlp_norm = "h.{i}.ln_2",
                            .mlp = {{.up = "h.{i}.mlp.c_fc", .down = "h.{i}.mlp.c_proj"}},
                            .final_norm = "ln_f"}};
  Layout own = shared;
  own.fusion = Fusion::kPerHead;
  own.kv_heads = 0;
  own.when = {{"multi_query", false, true}};
  return {.name = "gpt_bigcode",
          .model_types = {"gpt_bigcode"},
          .architectures = {"GPTBigCode"},
          .keys = {.d_model = {"n_embd", "hidden_size"},
                   .layers = {"n_layer", "num_hidden_layers"},
                   .heads = {"n_head", "num_attention_heads"}},
          .forward = {.activation_keys = {"activation_function"},
                      .activation = Activation::kGeluTanh,
                      .epsilon_keys = {"layer_norm_epsilon"}},
          .layouts = {shared, own},
          .gguf = GgufForm{"starcoder", {gguf_layout(Fusion::kBlocks)}, PositionKind::kLearned}};
}

}  // namespace headscope::families
