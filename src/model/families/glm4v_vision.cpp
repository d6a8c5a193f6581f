#include "headscope/model/family.h"
#include "model/qwen_vision_layout.h"

namespace headscope::families {

// The image tower of GLM-4V: Qwen's, with a table of positions, which are added after a norm.
Family glm4v_vision() {
  Layout layout = qwen_vision_layout();
  ForwardNames& names = layout.forward;
  names.positions = "embeddings.position_embedding.weight";
  names.embedding_norm = "post_conv_layernorm";
  names.norm_before_positions = true;
  names.mlp = {
      {.up = "blocks.{i}.mlp.up_proj", .gate = "blocks.{i}.mlp.gate_proj", .down = "blocks.{i}.mlp.down_proj"}};
  names.final_norm = "post_layernorm";
  ForwardRules rules = qwen_vision_rules(Activation::kSilu);
  rules.epsilon_keys = {"rms_norm_eps"};
  rules.epsilon = 1e-5;
  rules.interpolated_positions = true;
  return {.name = "glm4v_vision",
          .model_types = {"glm4v_vision", "glm4v"},
          .keys = qwen_vision_keys(),
          .remark = kRowsOfPatches,
          .modality = Modality::kImage,
          .causal = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryGrid,
          .forward = rules,
          .layouts = {layout}};
}

}  // namespace headscope::families
