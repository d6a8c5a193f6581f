#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// Gains are stored minus 1; the GGUF converter has already added the 1.
Family nemotron() {
  Layout layout = llama_layout();
  layout.norm_offset = 1;
  layout.forward.mlp = {{.up = "layers.{i}.mlp.up_proj", .down = "layers.{i}.mlp.down_proj"}};
  return {.name = "nemotron",
          .model_types = {"nemotron"},
          .architectures = {"NemotronFor", "NemotronModel"},
          .bias_key = "attention_bias",
          .tied = false,
          .position = PositionKind::kRotaryHalf,
          .forward = {.activation = Activation::kRelu2, .epsilon_keys = {"norm_eps"}, .rotary_share = 0.5},
          .layouts = {layout},
          .gguf = GgufForm{"nemotron", {gguf_layout(Fusion::kNone)}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
