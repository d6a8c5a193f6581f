#include "headscope/model/family.h"
#include "model/llama_layout.h"

namespace headscope::families {

// The language model, alone or inside a multimodal checkpoint. Gains are stored as they are.
Family gemma3n() {
  Layout layout = gemma_layout();
  layout.prefixes = {"model.language_model.", "language_model.model.", "model.", ""};
  layout.norm_offset = layout.output_scale_offset = 0;
  layout.shared_kv_key = "num_kv_shared_layers";
  layout.q_norm = "layers.{i}.self_attn.q_norm";
  layout.always_has = {"layers.{i}.altup.correct_output_scale"};
  layout.forward = {.k_norm = "layers.{i}.self_attn.k_norm", .final_norm = "norm"};
  return {.name = "gemma3n",
          .model_types = {"gemma3n_text", "gemma3n"},
          .architectures = {"Gemma3nFor", "Gemma3nText", "Gemma3nModel"},
          .nested_config = "text_config",
          .defaults = {.heads = 8, .head_dim = 256},
          .bias_key = "attention_bias",
          .no_forward =
              "several streams are mixed before and after each block (AltUp), with a low-rank branch beside "
              "attention (Laurel)",
          .remark = kSharedLayers,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = gemma_rules(),
          .layouts = {layout}};
}

}  // namespace headscope::families
