#pragma once

#include <string>

#include "headscope/model/family.h"

namespace headscope {

/// ViT's names as found in most files. `attention.attention` really is doubled; the sibling `output.dense` without
/// `attention.` belongs to the MLP.
[[nodiscard]] inline Layout vit_layout(const std::string& prefix) {
  return {.prefixes = {prefix, ""},
          .q = "encoder.layer.{i}.attention.attention.query",
          .k = "encoder.layer.{i}.attention.attention.key",
          .v = "encoder.layer.{i}.attention.attention.value",
          .o = "encoder.layer.{i}.attention.output.dense",
          .norm = "encoder.layer.{i}.layernorm_before",
          .forward = {.positions = "embeddings.position_embeddings",
                      .patches = "embeddings.patch_embeddings.projection",
                      .leading = {"embeddings.cls_token", "embeddings.distillation_token"},
                      .mlp_norm = "encoder.layer.{i}.layernorm_after",
                      .mlp = {{.up = "encoder.layer.{i}.intermediate.dense", .down = "encoder.layer.{i}.output.dense"}},
                      .final_norm = "layernorm",
                      .classify = {{"classifier"}, {"cls_classifier", "distillation_classifier"}}}};
}

/// ViT's names since transformers 5.9, for files saved with save_original_format=False.
[[nodiscard]] inline Layout vit_layout_v5(const std::string& prefix) {
  return {.prefixes = {prefix, ""},
          .q = "layers.{i}.attention.q_proj",
          .k = "layers.{i}.attention.k_proj",
          .v = "layers.{i}.attention.v_proj",
          .o = "layers.{i}.attention.o_proj",
          .norm = "layers.{i}.layernorm_before",
          .forward = {.positions = "embeddings.position_embeddings",
                      .patches = "embeddings.patch_embeddings.projection",
                      .leading = {"embeddings.cls_token", "embeddings.distillation_token"},
                      .mlp_norm = "layers.{i}.layernorm_after",
                      .mlp = {{.up = "layers.{i}.mlp.fc1", .down = "layers.{i}.mlp.fc2"}},
                      .final_norm = "layernorm",
                      .classify = {{"classifier"}, {"cls_classifier", "distillation_classifier"}}}};
}

/// The names of DINOv2's forward pass, with and without registers.
[[nodiscard]] inline ForwardNames dinov2_forward() {
  return {
      .positions = "embeddings.position_embeddings",
      .patches = "embeddings.patch_embeddings.projection",
      .leading = {"embeddings.cls_token"},
      .mlp_norm = "encoder.layer.{i}.norm2",
      .mlp = {{.up = "encoder.layer.{i}.mlp.fc1", .down = "encoder.layer.{i}.mlp.fc2"},
              {.up = "encoder.layer.{i}.mlp.weights_in", .down = "encoder.layer.{i}.mlp.weights_out", .fused = true}},
      .mlp_scale = "encoder.layer.{i}.layer_scale2.lambda1",
      .final_norm = "layernorm",
      .classify = {{"classifier"}}};
}

[[nodiscard]] inline ForwardRules dinov2_rules() {
  return {.epsilon = 1e-6, .pooling = Pooling::kFirstAndMean, .interpolated_positions = true};
}

}  // namespace headscope
