#include "headscope/model/family.h"
#include "model/llama_layout.h"

namespace headscope::families {

// The language model, alone or inside a multimodal checkpoint. Gains are stored minus 1.
Family qwen3_5() {
  Layout layout = gated_layout();
  layout.prefixes = {"model.language_model.", "language_model.model.", "model.", ""};
  return {.name = "qwen3_5",
          .model_types = {"qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text"},
          .architectures = {"Qwen3_5"},
          .nested_config = "text_config",
          .defaults = {.head_dim = 256},
          .remark = kGatedOutput,
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = gated_rules(8),
          .layouts = {layout}};
}

}  // namespace headscope::families
