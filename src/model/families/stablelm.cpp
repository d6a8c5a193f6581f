#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// With qk_layernorm each head has a norm of its own; the GGUF converter stacks their gains.
Family stablelm() {
  Layout layout = llama_layout();
  layout.q_norm = "layers.{i}.self_attn.q_layernorm.norms.{h}";
  layout.forward.k_norm = "layers.{i}.self_attn.k_layernorm.norms.{h}";
  layout.forward.mlp_norm_if_sequential = true;
  Layout gguf = gguf_layout(Fusion::kNone);
  gguf.forward.mlp_norm_if_sequential = true;
  return {.name = "stablelm",
          .model_types = {"stablelm", "stablelm_epoch"},
          .architectures = {"StableLm"},
          .tied = false,
          .position = PositionKind::kRotaryHalf,
          .forward = {.activation = Activation::kSilu, .parallel_key = "use_parallel_residual", .rotary_share = 0.25},
          .layouts = {layout},
          .gguf = GgufForm{"stablelm", {gguf}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
