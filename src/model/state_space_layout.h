#pragma once

#include <string>

#include "headscope/model/family.h"

namespace headscope {

inline constexpr const char* kStateSpaceLayers =
    "the other layers are state-space models (Mamba 2), which have no maps";

/// Mamba 2's names in `module`, e.g. "layers.{i}.mamba".
[[nodiscard]] inline MixerNames grouped_state_names(const std::string& module) {
  return {.kind = MixerKind::kGroupedState,
          .in = {{module + ".in_proj"}},
          .kernel = module + ".conv1d",
          .decay = module + ".A_log",
          .step_bias = module + ".dt_bias",
          .skip = module + ".D",
          .norm = module + ".norm",
          .out = module + ".out_proj"};
}

[[nodiscard]] inline MixerNames gguf_grouped_state_names() {
  return {.kind = MixerKind::kGroupedState,
          .in = {{"blk.{i}.ssm_in"}},
          .kernel = "blk.{i}.ssm_conv1d",
          .decay = "blk.{i}.ssm_a",
          .step_bias = "blk.{i}.ssm_dt.bias",
          .skip = "blk.{i}.ssm_d",
          .norm = "blk.{i}.ssm_norm",
          .out = "blk.{i}.ssm_out"};
}

/// Jamba's names of what lies around the mixers; Bamba and Falcon-H1 share them.
[[nodiscard]] inline ForwardNames state_space_block() {
  const std::string block = "layers.{i}.feed_forward";
  return {.mlp_norm = "layers.{i}.pre_ff_layernorm",
          .mlp = {{.up = block + ".up_proj", .gate = block + ".gate_proj", .down = block + ".down_proj"}},
          .final_norm = "final_layernorm"};
}

}  // namespace headscope
