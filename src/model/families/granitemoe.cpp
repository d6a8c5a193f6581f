#include "headscope/model/family.h"
#include "model/expert_names.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// Granite with experts, which are stacked in all files. In GGUF the rows of q and k are permuted as LLaMA's.
Family granitemoe() {
  Layout layout = llama_layout();
  layout.forward.mlp = {};
  ExpertNames& experts = layout.forward.experts;
  experts = experts_in("layers.{i}.block_sparse_moe", "router");
  experts.routers.push_back("layers.{i}.block_sparse_moe.router.layer");
  experts.forms.push_back({.up = "layers.{i}.block_sparse_moe.input_linear.weight",
                           .down = "layers.{i}.block_sparse_moe.output_linear.weight",
                           .gate_rows = GateRows::kFirstHalf});
  ForwardRules rules = granite_rules();
  rules.router = {.chosen = 8};
  return {.name = "granitemoe",
          .model_types = {"granitemoe"},
          .architectures = {"GraniteMoeFor", "GraniteMoeModel"},
          .bias_key = "attention_bias",
          .remark = "residual_multiplier, a constant, is not part of O",
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout},
          .gguf = GgufForm{"granitemoe", {gguf_layout(Fusion::kNone)}, PositionKind::kRotaryInterleaved}};
}

}  // namespace headscope::families
