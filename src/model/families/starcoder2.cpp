#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

Family starcoder2() {
  Layout layout = llama_layout();
  layout.forward.mlp = {{.up = "layers.{i}.mlp.c_fc", .down = "layers.{i}.mlp.c_proj"}};
  return {.name = "starcoder2",
          .model_types = {"starcoder2"},
          .architectures = {"Starcoder2"},
          .bias_key = "use_bias",
          .position = PositionKind::kRotaryHalf,
          .forward = {.activation = Activation::kGeluTanh, .epsilon_keys = {"norm_epsilon"}, .windows = Windows::kAll},
          .layouts = {layout},
          .gguf = GgufForm{"starcoder2", {gguf_layout(Fusion::kNone)}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
