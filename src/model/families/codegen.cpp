#include "model/gpt2_layout.h"

namespace headscope::families {

// qkv_proj holds four partitions of [q | v | k], as it was divided among four devices for training.
Family codegen() {
  Layout layout = gptj_layout();
  layout.fusion = Fusion::kGrouped;
  layout.groups = 4;
  layout.value_before_key = true;
  layout.q = "h.{i}.attn.qkv_proj";
  return {.name = "codegen",
          .model_types = {"codegen"},
          .architectures = {"CodeGen"},
          .keys = gpt2_keys(),
          .tied = false,
          .position = PositionKind::kRotaryInterleaved,
          .forward = gptj_rules(),
          .layouts = {layout}};
}

}  // namespace headscope::families
