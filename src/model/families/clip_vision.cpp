#include "headscope/model/family.h"
#include "model/gguf_layout.h"

namespace headscope::families {

// CLIP's image tower, alone or next to the text tower.
Family clip_vision() {
  Layout layout{.prefixes = {"vision_model.", ""},
                .other_prefixes = false,  // text_model. has the same names
                .q = "encoder.layers.{i}.self_attn.q_proj",
                .k = "encoder.layers.{i}.self_attn.k_proj",
                .v = "encoder.layers.{i}.self_attn.v_proj",
                .o = "encoder.layers.{i}.self_attn.out_proj",
                .norm = "encoder.layers.{i}.layer_norm1",
                // post_layernorm is only for the pooled class token.
                .forward = {.positions = "embeddings.position_embedding.weight",
                            .patches = "embeddings.patch_embedding",
                            .leading = {"embeddings.class_embedding"},
                            .embedding_norm = "pre_layrnorm",
                            .mlp_norm = "encoder.layers.{i}.layer_norm2",
                            .mlp = {{.up = "encoder.layers.{i}.mlp.fc1", .down = "encoder.layers.{i}.mlp.fc2"}}}};
  return {.name = "clip_vision",
          .model_types = {"clip", "clip_vision_model"},
          .architectures = {"CLIPModel", "CLIPVision"},
          .nested_config = "vision_config",
          .defaults = {.heads = 12},
          .modality = Modality::kImage,
          .causal = false,
          .forward = {.activation = Activation::kQuickGelu},
          .layouts = {layout},
          .gguf = GgufForm{"clip",
                           {gguf_vision_layout(Fusion::kNone), gguf_vision_layout(Fusion::kBlocks)},
                           PositionKind::kLearned,
                           "clip.vision"}};
}

}  // namespace headscope::families
