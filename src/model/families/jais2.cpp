#include "headscope/model/family.h"
#include "model/llama_layout.h"

namespace headscope::families {

// LLaMA with LayerNorms, biases and an MLP without a gate.
Family jais2() {
  Layout layout = llama_layout();
  layout.forward.mlp = {{.up = "layers.{i}.mlp.up_proj", .down = "layers.{i}.mlp.down_proj"}};
  return {.name = "jais2",
          .model_types = {"jais2"},
          .architectures = {"Jais2For", "Jais2Model"},
          .defaults = {.heads = 26},
          .bias_key = "attention_bias",
          .tied = false,
          .position = PositionKind::kRotaryHalf,
          .forward = {.activation = Activation::kRelu2, .epsilon = 1e-5},
          .layouts = {layout}};
}

}  // namespace headscope::families
