#include "headscope/model/family.h"

namespace headscope::families {

// AIMv2's image tower. The head that pools its patches by attention is not one of its layers.
Family aimv2_vision() {
  const std::string block = "encoder.layers.{i}.";
  Layout layout{
      .prefixes = {"", "vision_model."},
      .q = block + "attention.q_proj",
      .k = block + "attention.k_proj",
      .v = block + "attention.v_proj",
      .o = block + "attention.out_proj",
      .norm = block + "rms_norm1",
      .always_has = {block + "ffn.gate_proj.weight"},
      .forward = {
          .positions = "embeddings.position_embedding.weight",
          .patches = "embeddings.patch_embed",
          .embedding_norm = "embeddings.rms_norm",
          .norm_before_positions = true,
          .mlp_norm = block + "rms_norm2",
          .mlp = {{.up = block + "ffn.up_proj", .gate = block + "ffn.gate_proj", .down = block + "ffn.down_proj"}},
          .final_norm = "rms_norm"}};
  return {.name = "aimv2_vision",
          .model_types = {"aimv2_vision_model", "aimv2"},
          .architectures = {"Aimv2Vision", "Aimv2Model"},
          .nested_config = "vision_config",
          .bias_key = "qkv_bias",
          .modality = Modality::kImage,
          .causal = false,
          .norm = NormKind::kRmsNorm,
          .forward = {.activation = Activation::kSilu, .epsilon_keys = {"rms_norm_eps"}},
          .layouts = {layout}};
}

}  // namespace headscope::families
