#include "headscope/model/family.h"
#include "model/llama_layout.h"

namespace headscope::families {

// The language model, alone or inside a multimodal checkpoint. Gains are stored as they are.
Family gemma4() {
  Layout layout = gemma_layout();
  layout.prefixes = {"model.language_model.", "language_model.model.", "model.", ""};
  layout.norm_offset = layout.output_scale_offset = 0;
  layout.own_sizes = layout.value_is_key = true;
  layout.shared_kv_key = "num_kv_shared_layers";
  layout.q_norm = "layers.{i}.self_attn.q_norm";
  layout.always_has = {"layers.{i}.layer_scalar"};
  layout.forward.k_norm = "layers.{i}.self_attn.k_norm";
  layout.forward.bare_value_norm = true;
  layout.forward.token_inputs = "embed_tokens_per_layer.weight";
  layout.forward.token_projection = "per_layer_model_projection";
  layout.forward.token_norm = "per_layer_projection_norm";
  layout.forward.token_gate = "layers.{i}.per_layer_input_gate";
  layout.forward.token_out = "layers.{i}.per_layer_projection";
  layout.forward.token_out_norm = "layers.{i}.post_per_layer_input_norm";
  layout.forward.block_scale = "layers.{i}.layer_scalar";
  ForwardRules rules = gemma_rules();
  rules.query_scalar = 0;
  rules.unscaled = true;
  rules.windows = Windows::kAllButEveryNth;
  rules.window = 512;
  rules.rotary_base = 1'000'000;
  rules.local_rotary_base = 10'000;
  return {.name = "gemma4",
          .model_types = {"gemma4_text", "gemma4"},
          .architectures = {"Gemma4For", "Gemma4Text", "Gemma4Model"},
          .nested_config = "text_config",
          .bias_key = "attention_bias",
          .remark = kSharedLayers,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout}};
}

}  // namespace headscope::families
