#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// Command R7B and A: three of four layers have a window and rotary positions, the others neither.
Family cohere2() {
  Layout layout = llama_layout();
  layout.forward.mlp_norm = "";
  Layout gguf = gguf_layout(Fusion::kNone);
  gguf.forward.mlp_norm = "";
  return {.name = "cohere2",
          .model_types = {"cohere2"},
          .architectures = {"Cohere2For", "Cohere2Model"},
          .bias_key = "attention_bias",
          .remark = "layers without a window, by default every fourth, have no positions",
          .position = PositionKind::kRotaryInterleaved,
          .forward = {.activation = Activation::kSilu,
                      .parallel = true,
                      .factors = {.logits = "logit_scale"},
                      .logit_factor = 0.0625,
                      .windows = Windows::kAllButEveryNth,
                      .window_pattern = 4,
                      .window = 4096,
                      .rotary_layers = RotaryLayers::kWindowed},
          .layouts = {layout},
          .gguf = GgufForm{"cohere2", {gguf}, PositionKind::kRotaryInterleaved}};
}

}  // namespace headscope::families
