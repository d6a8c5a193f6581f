#include "headscope/model/family.h"
#include "model/gguf_layout.h"
#include "model/llama_layout.h"

namespace headscope::families {

// GLM-4-0414, and the text tower of GLM-4V: GLM with norms on the outputs of attention and MLP, too.
Family glm4() {
  Layout layout = glm_layout();
  layout.output_scale = "layers.{i}.post_self_attn_layernorm.weight";
  layout.forward.norm_after_attention = "layers.{i}.post_self_attn_layernorm";
  layout.forward.norm_after_mlp = "layers.{i}.post_mlp_layernorm";
  Layout gguf = gguf_gemma_layout();
  gguf.forward.mlp = {{.up = "blk.{i}.ffn_up", .down = "blk.{i}.ffn_down", .fused = true}};
  return {.name = "glm4",
          .model_types = {"glm4", "glm4v_text", "glm4v"},
          .architectures = {"Glm4For", "Glm4Model", "Glm4vFor", "Glm4vModel", "Glm4vText"},
          .defaults = {.head_dim = 128},
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryInterleaved,
          .forward = glm_rules(),
          .layouts = {layout},
          .gguf = GgufForm{.architecture = "glm4",
                           .layouts = {gguf},
                           .position = PositionKind::kRotaryInterleaved,
                           .half_if_sections = true}};
}

}  // namespace headscope::families
