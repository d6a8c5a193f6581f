#pragma once

#include <string>

#include "headscope/model/family.h"

namespace headscope {

/// ViT's names as files mostly carry them. `attention.attention` is doubled; the sibling
/// `output.dense` without `attention.` is the MLP's.
[[nodiscard]] inline Layout vit_layout(const std::string& prefix) {
  return {.prefixes = {prefix, ""},
          .q = "encoder.layer.{i}.attention.attention.query",
          .k = "encoder.layer.{i}.attention.attention.key",
          .v = "encoder.layer.{i}.attention.attention.value",
          .o = "encoder.layer.{i}.attention.output.dense",
          .norm = "encoder.layer.{i}.layernorm_before"};
}

/// ViT's names since transformers 5.9, for files saved with save_original_format=False.
[[nodiscard]] inline Layout vit_layout_v5(const std::string& prefix) {
  return {.prefixes = {prefix, ""},
          .q = "layers.{i}.attention.q_proj",
          .k = "layers.{i}.attention.k_proj",
          .v = "layers.{i}.attention.v_proj",
          .o = "layers.{i}.attention.o_proj",
          .norm = "layers.{i}.layernorm_before"};
}

}  // namespace headscope
