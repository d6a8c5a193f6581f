#include "headscope/model/family.h"

namespace headscope::families {

// Each stage has a width of its own, so heads are related within a stage.
Family swin() {
  Layout layout{.prefixes = {"swin.encoder.layers.{i}.", "encoder.layers.{i}."},
                .q = "blocks.{i}.attention.self.query",
                .k = "blocks.{i}.attention.self.key",
                .v = "blocks.{i}.attention.self.value",
                .o = "blocks.{i}.attention.output.dense",
                .norm = "blocks.{i}.layernorm_before"};
  return {.name = "swin",
          .model_types = {"swin"},
          .architectures = {"SwinFor", "SwinModel", "SwinBackbone"},
          .keys = {.d_model = {}, .layers = {}, .heads = {"num_heads"}},
          .no_forward = "its patches attend within windows, which shift from layer to layer and merge between stages",
          .remark = "heads are those of one stage; stages have different widths, so that heads of two are not compared",
          .modality = Modality::kImage,
          .causal = false,
          .position = PositionKind::kGridBias,
          .layouts = {layout}};
}

}  // namespace headscope::families
