#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// Phi-1, 1.5 and 2: attention and MLP read the same norm.
Family phi() {
  Layout layout = llama_layout();
  layout.o = "layers.{i}.self_attn.dense";
  layout.q_norm = "layers.{i}.self_attn.q_layernorm";
  layout.forward.k_norm = "layers.{i}.self_attn.k_layernorm";
  layout.forward.mlp_norm = "";
  layout.forward.mlp = {{.up = "layers.{i}.mlp.fc1", .down = "layers.{i}.mlp.fc2"}};
  layout.forward.final_norm = "final_layernorm";
  layout.forward.unembedding_bias = "lm_head.bias";
  std::vector<Layout> gguf = {gguf_layout(Fusion::kNone), gguf_layout(Fusion::kBlocks)};
  for (Layout& form : gguf) form.forward.mlp_norm = "";
  return {.name = "phi",
          .model_types = {"phi", "phi-msft"},
          .architectures = {"PhiFor", "PhiModel"},
          .tied = false,
          .position = PositionKind::kRotaryHalf,
          .forward = {.activation = Activation::kGeluTanh, .parallel = true, .rotary_share = 0.5},
          .layouts = {layout},
          .gguf = GgufForm{"phi2", gguf, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
