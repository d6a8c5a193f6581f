#include "model/gpt2_layout.h"

namespace headscope::families {

Family gptj() {
  Layout layout = gptj_layout();
  layout.q = "h.{i}.attn.q_proj";
  layout.k = "h.{i}.attn.k_proj";
  layout.v = "h.{i}.attn.v_proj";
  return {.name = "gptj",
          .model_types = {"gptj"},
          .architectures = {"GPTJ"},
          .keys = gpt2_keys(),
          .tied = false,
          .position = PositionKind::kRotaryInterleaved,
          .forward = gptj_rules(),
          .layouts = {layout}};
}

}  // namespace headscope::families
