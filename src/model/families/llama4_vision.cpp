#include "headscope/model/family.h"
#include "model/llama_layout.h"

namespace headscope::families {

// Llama 4's image tower.
Family llama4_vision() {
  Layout layout = llama_layout();
  layout.prefixes = {"vision_model.model.", "model.", ""};
  layout.embedding = layout.unembedding = {};
  layout.always_has = {"layers.{i}.mlp.fc1.weight"};
  layout.forward = {.mlp_norm = "layers.{i}.post_attention_layernorm",
                    .mlp = {{.up = "layers.{i}.mlp.fc1", .down = "layers.{i}.mlp.fc2"}}};
  return {.name = "llama4_vision",
          .model_types = {"llama4_vision_model"},
          .architectures = {"Llama4VisionModel"},
          .nested_config = "vision_config",
          .no_forward = "its class token follows the patches",
          .modality = Modality::kImage,
          .causal = false,
          .position = PositionKind::kRotaryGrid,
          .layouts = {layout}};
}

}  // namespace headscope::families
