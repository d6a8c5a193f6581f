#include "headscope/model/family.h"
#include "model/expert_names.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// No positions: the state-space layers know the order.
Family jamba() {
  Layout layout = llama_layout();
  layout.hybrid = true;
  const std::string mamba = "layers.{i}.mamba.";
  const std::string block = "layers.{i}.feed_forward";
  layout.forward = {.mlp_norm = "layers.{i}.pre_ff_layernorm",
                    .mlp = {{.up = block + ".up_proj", .gate = block + ".gate_proj", .down = block + ".down_proj"}},
                    .experts = experts_in(block, "router"),
                    .mixer = {.kind = MixerKind::kSelectiveState,
                              .in = {{mamba + "in_proj"}},
                              .kernel = mamba + "conv1d",
                              .decay = mamba + "A_log",
                              .skip = mamba + "D",
                              .out = mamba + "out_proj",
                              .select = mamba + "x_proj",
                              .step_norm = mamba + "dt_layernorm",
                              .write_norm = mamba + "b_layernorm",
                              .read_norm = mamba + "c_layernorm",
                              .step = mamba + "dt_proj"},
                    .final_norm = "final_layernorm"};
  Layout gguf = gguf_layout(Fusion::kNone);
  gguf.hybrid = true;
  gguf.forward.mixer = {.kind = MixerKind::kSelectiveState,
                        .in = {{"blk.{i}.ssm_in"}},
                        .kernel = "blk.{i}.ssm_conv1d",
                        .decay = "blk.{i}.ssm_a",
                        .skip = "blk.{i}.ssm_d",
                        .out = "blk.{i}.ssm_out",
                        .select = "blk.{i}.ssm_x",
                        .step_norm = "blk.{i}.ssm_dt_norm",
                        .write_norm = "blk.{i}.ssm_b_norm",
                        .read_norm = "blk.{i}.ssm_c_norm",
                        .step = "blk.{i}.ssm_dt"};
  ForwardRules rules = llama_rules();
  rules.router = {.chosen = 2, .normalized = false, .normalized_in_gguf = false};
  return {.name = "jamba",
          .model_types = {"jamba"},
          .architectures = {"JambaFor", "JambaModel"},
          .remark = "the other layers are state-space models (Mamba), which have no maps",
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kNone,
          .forward = rules,
          .layouts = {layout},
          .gguf = GgufForm{"jamba", {gguf}, PositionKind::kNone}};
}

}  // namespace headscope::families
