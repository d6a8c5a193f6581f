#pragma once

#include <string>

#include "headscope/model/expert_form.h"

namespace headscope {

/// Names of a mixture in `block`, e.g. "layers.{i}.mlp", with gate_proj, up_proj and down_proj: one module per expert,
/// or two stacked tensors.
[[nodiscard]] inline ExpertNames experts_in(const std::string& block, const std::string& router = "gate") {
  const std::string one = block + ".experts.{e}.";
  const std::string all = block + ".experts.";
  return {.routers = {block + "." + router},
          .forms = {{.up = one + "up_proj", .gate = one + "gate_proj", .down = one + "down_proj"},
                    {.up = all + "gate_up_proj", .down = all + "down_proj", .gate_rows = GateRows::kFirstHalf}}};
}

/// The same with an expert that every token uses.
[[nodiscard]] inline ExpertNames with_shared(ExpertNames names, const std::string& module) {
  names.shared_up = module + ".up_proj";
  names.shared_gate = module + ".gate_proj";
  names.shared_down = module + ".down_proj";
  return names;
}

/// Mixtral's names, which Phi-MoE shares: w1 is the gate, w3 is up, w2 is down. transformers 5 can write its own
/// instead.
[[nodiscard]] inline ExpertNames mixtral_experts(const std::string& new_router = "gate") {
  const std::string one = "layers.{i}.block_sparse_moe.experts.{e}.";
  ExpertNames names = experts_in("layers.{i}.mlp", new_router);
  names.routers.push_back("layers.{i}.block_sparse_moe.gate");
  names.forms.push_back({.up = one + "w3", .gate = one + "w1", .down = one + "w2"});
  return names;
}

/// DeepSeek V3 and GLM-4-MoE: a sigmoid router with a correction, and a shared expert.
[[nodiscard]] inline ExpertNames deepseek_experts() {
  ExpertNames names = with_shared(experts_in("layers.{i}.mlp"), "layers.{i}.mlp.shared_experts");
  names.corrections = {"layers.{i}.mlp.gate.e_score_correction_bias"};
  return names;
}

/// llama.cpp's names for every mixture; its oldest files have one tensor per expert.
[[nodiscard]] inline ExpertNames gguf_experts() {
  const std::string b = "blk.{i}.ffn_";
  return {
      .routers = {b + "gate_inp"},
      .corrections = {"blk.{i}.exp_probs_b.bias"},
      .correction_optional = true,  // families share these names
      .forms = {{.up = b + "up_exps.weight", .gate = b + "gate_exps.weight", .down = b + "down_exps.weight"},
                {.up = b + "gate_up_exps.weight", .down = b + "down_exps.weight", .gate_rows = GateRows::kFirstHalf},
                {.up = b + "up.{e}", .gate = b + "gate.{e}", .down = b + "down.{e}"}},
      .shared_up = b + "up_shexp",
      .shared_gate = b + "gate_shexp",
      .shared_down = b + "down_shexp",
      .shared_switch = b + "gate_inp_shexp"};
}

}  // namespace headscope
