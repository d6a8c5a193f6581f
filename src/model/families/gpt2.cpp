#include "headscope/model/family.h"
#include "model/gguf_layout.h"

namespace headscope::families {

// Conv1D stores [in, out]. c_proj is square, so a missing transpose raises no shape error: a head's O is a block of
// rows.
Family gpt2() {
  Layout layout{.prefixes = {"transformer.", ""},
                .fusion = Fusion::kBlocks,
                .storage = Storage::kInOut,
                .q = "h.{i}.attn.c_attn",
                .o = "h.{i}.attn.c_proj",
                .norm = "h.{i}.ln_1",
                .embedding = {"wte.weight"},
                .unembedding = {"lm_head.weight"},
                .forward = {.positions = "wpe.weight",
                            .mlp_norm = "h.{i}.ln_2",
                            .mlp = {{.up = "h.{i}.mlp.c_fc", .down = "h.{i}.mlp.c_proj"}},
                            .final_norm = "ln_f"}};
  return {.name = "gpt2",
          .model_types = {"gpt2"},
          .architectures = {"GPT2"},
          .keys = {.d_model = {"n_embd", "hidden_size"},
                   .layers = {"n_layer", "num_hidden_layers"},
                   .heads = {"n_head", "num_attention_heads"}},
          .forward = {.activation_keys = {"activation_function"},
                      .activation = Activation::kGeluTanh,
                      .epsilon_keys = {"layer_norm_epsilon"}},
          .layouts = {layout},
          // The converter transposes Conv1D to [3D, D].
          .gguf = GgufForm{"gpt2", {gguf_layout(Fusion::kBlocks)}, PositionKind::kLearned}};
}

}  // namespace headscope::families
