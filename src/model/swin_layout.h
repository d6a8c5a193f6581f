#pragma once

#include "headscope/model/family.h"

namespace headscope {

/// The names of Swin and Swin v2. Each stage has a width of its own, so heads are related within a stage.
[[nodiscard]] inline Layout swin_layout(const std::string& model) {
  return {.prefixes = {model + ".encoder.layers.{i}.", "encoder.layers.{i}."},
          .q = "blocks.{i}.attention.self.query",
          .k = "blocks.{i}.attention.self.key",
          .v = "blocks.{i}.attention.self.value",
          .o = "blocks.{i}.attention.output.dense",
          .forward = {.patches = "embeddings.patch_embeddings.projection",
                      .embedding_norm = "embeddings.norm",
                      .mlp = {{.up = "blocks.{i}.intermediate.dense", .down = "blocks.{i}.output.dense"}},
                      .merging = "downsample.reduction",
                      .merging_norm = "downsample.norm",
                      .final_norm = "layernorm",
                      .classify = {{"classifier"}},
                      .never_has = {"embeddings.position_embeddings"}}};
}

inline constexpr const char* kHeadsOfOneStage =
    "heads are those of one stage; stages have different widths, so that heads of two are not compared. Patches attend "
    "within windows: in maps all other patches have 0";

}  // namespace headscope
