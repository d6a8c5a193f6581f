#pragma once

#include "model/expert_names.h"
#include "model/llama_layout.h"

namespace headscope {

/// Granite with experts, which are stacked in all files, and, in some models, one that every token uses.
[[nodiscard]] inline Layout granite_mixture_layout() {
  Layout layout = llama_layout();
  layout.forward.mlp = {};
  ExpertNames& experts = layout.forward.experts;
  experts = experts_in("layers.{i}.block_sparse_moe", "router");
  experts.routers.push_back("layers.{i}.block_sparse_moe.router.layer");
  experts.forms.push_back({.up = "layers.{i}.block_sparse_moe.input_linear.weight",
                           .down = "layers.{i}.block_sparse_moe.output_linear.weight",
                           .gate_rows = GateRows::kFirstHalf});
  experts.shared_up = "layers.{i}.shared_mlp.input_linear";
  experts.shared_down = "layers.{i}.shared_mlp.output_linear";
  experts.shared_fused = true;
  return layout;
}

}  // namespace headscope
