#include "headscope/model/family.h"

namespace headscope::families {

// The image tower of Pixtral and Mistral 3: LLaMA's blocks in both directions, with rotary positions by row and column.
Family pixtral() {
  Layout layout{.prefixes = {"vision_tower.", ""},
                .q = "transformer.layers.{i}.attention.q_proj",
                .k = "transformer.layers.{i}.attention.k_proj",
                .v = "transformer.layers.{i}.attention.v_proj",
                .o = "transformer.layers.{i}.attention.o_proj",
                .norm = "transformer.layers.{i}.attention_norm",
                .forward = {.patches = "patch_conv",
                            .embedding_norm = "ln_pre",
                            .mlp_norm = "transformer.layers.{i}.ffn_norm",
                            .mlp = {{.up = "transformer.layers.{i}.feed_forward.up_proj",
                                     .gate = "transformer.layers.{i}.feed_forward.gate_proj",
                                     .down = "transformer.layers.{i}.feed_forward.down_proj"}}}};
  return {.name = "pixtral",
          .model_types = {"pixtral"},
          .architectures = {"PixtralVision"},
          .defaults = {.heads = 16},
          .modality = Modality::kImage,
          .causal = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryGrid,
          .forward = {.epsilon_keys = {}, .rotary_grid = RotaryGrid::kAlternating},
          .layouts = {layout}};
}

}  // namespace headscope::families
