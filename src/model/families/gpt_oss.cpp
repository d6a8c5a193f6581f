#include "headscope/model/family.h"
#include "model/expert_names.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// Every other layer has a window. Each head's softmax has one more column, a learned score, which is then dropped.
Family gpt_oss() {
  const std::string experts = "layers.{i}.mlp.experts.";
  Layout layout = llama_layout();
  layout.forward.mlp = {};
  layout.forward.experts = {.routers = {"layers.{i}.mlp.router"},
                            .forms = {{.up = experts + "gate_up_proj",
                                       .down = experts + "down_proj",
                                       .gate_rows = GateRows::kEven,
                                       .storage = Storage::kInOut}}};
  layout.forward.sinks = "layers.{i}.self_attn.sinks";
  Layout gguf = gguf_layout(Fusion::kNone);
  gguf.forward.mlp_norm = "blk.{i}.post_attention_norm";
  gguf.forward.sinks = "blk.{i}.attn_sinks.weight";
  ForwardRules rules = llama_rules(1e-5);
  rules.windows = Windows::kEveryOther;
  rules.window = 128;
  rules.rotary_base = 150'000;
  rules.whole_ramp_in_gguf = false;
  rules.router = {.chosen = 4, .gate_limit = 7};
  return {.name = "gpt_oss",
          .model_types = {"gpt_oss"},
          .architectures = {"GptOssFor", "GptOssModel"},
          .defaults = {.head_dim = 64},
          .bias_key = "attention_bias",
          .remark =
              "attention has sinks: each head's softmax has one more column, which no key has, so the rows of a "
              "map sum to less than 1",
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout},
          .gguf = GgufForm{"gpt-oss", {gguf}, PositionKind::kRotaryHalf}};
}

}  // namespace headscope::families
