#include "headscope/model/family.h"
#include "model/llama_layout.h"

namespace headscope::families {

// The language model, alone or inside a multimodal checkpoint. Gains are stored as they are.
Family gemma3n() {
  Layout layout = gemma_layout();
  layout.prefixes = {"model.language_model.", "language_model.model.", "model.", ""};
  layout.norm_offset = layout.output_scale_offset = 0;
  layout.shared_kv_key = "num_kv_shared_layers";
  layout.shared_kv_layers = 15;
  layout.q_norm = "layers.{i}.self_attn.q_norm";
  layout.always_has = {"layers.{i}.altup.correct_output_scale"};
  ForwardNames& names = layout.forward;
  names.k_norm = "layers.{i}.self_attn.k_norm";
  names.bare_value_norm = true;
  names.token_inputs = "embed_tokens_per_layer.weight";
  names.token_projection = "per_layer_model_projection";
  names.token_norm = "per_layer_projection_norm";
  names.token_gate = "layers.{i}.per_layer_input_gate";
  names.token_out = "layers.{i}.per_layer_projection";
  names.token_out_norm = "layers.{i}.post_per_layer_input_norm";
  names.low_rank_in = "layers.{i}.laurel.linear_left";
  names.low_rank_out = "layers.{i}.laurel.linear_right";
  names.low_rank_norm = "layers.{i}.laurel.post_laurel_norm";
  names.side_streams = {.in = "altup_projections.{i}",
                        .out = "altup_unembed_projections.{i}",
                        .router = "layers.{i}.altup.modality_router",
                        .router_norm = "layers.{i}.altup.router_norm",
                        .prediction = "layers.{i}.altup.prediction_coefs",
                        .correction = "layers.{i}.altup.correction_coefs",
                        .output_scale = "layers.{i}.altup.correct_output_scale"};
  ForwardRules rules = gemma_rules();
  rules.query_scalar = 0;
  rules.unscaled = rules.sparse_gates = true;
  rules.logit_cap = 30;
  rules.windows = Windows::kAllButEveryNth;
  rules.window_pattern = 5;
  rules.window = 512;
  rules.rotary_base = 1'000'000;
  rules.local_rotary_base = 10'000;
  return {.name = "gemma3n",
          .model_types = {"gemma3n_text", "gemma3n"},
          .architectures = {"Gemma3nFor", "Gemma3nText", "Gemma3nModel"},
          .nested_config = "text_config",
          .defaults = {.heads = 8, .head_dim = 256},
          .bias_key = "attention_bias",
          .remark = kSharedLayers,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryHalf,
          .forward = rules,
          .layouts = {layout}};
}

}  // namespace headscope::families
