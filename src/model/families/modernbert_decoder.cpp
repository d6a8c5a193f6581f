#include "headscope/model/family.h"
#include "model/modernbert_layout.h"

namespace headscope::families {

Family modernbert_decoder() {
  Layout layout = modernbert_layout();
  layout.q = "layers.{i}.attn.q_proj";
  layout.k = "layers.{i}.attn.k_proj";
  layout.v = "layers.{i}.attn.v_proj";
  layout.forward.transform = "lm_head.dense";
  layout.forward.transform_norm = "lm_head.norm";
  return {.name = "modernbert_decoder",
          .model_types = {"modernbert-decoder"},
          .architectures = {"ModernBertDecoder"},
          .bias_key = "attention_bias",
          .remark = kFirstLayerWithoutNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = modernbert_rules(),
          .layouts = {layout}};
}

}  // namespace headscope::families
