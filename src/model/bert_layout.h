#pragma once

#include <string>

#include "headscope/model/family.h"

namespace headscope {

/// BERT's tensor names, which RoBERTa shares except for the prefix.
[[nodiscard]] inline Layout bert_layout(const std::string& prefix) {
  return {.prefixes = {prefix, ""},
          .q = "encoder.layer.{i}.attention.self.query",
          .k = "encoder.layer.{i}.attention.self.key",
          .v = "encoder.layer.{i}.attention.self.value",
          .o = "encoder.layer.{i}.attention.output.dense",
          .embedding = {"embeddings.word_embeddings.weight"},
          .unembedding = {"cls.predictions.decoder.weight"},
          .forward = {.positions = "embeddings.position_embeddings.weight",
                      .token_types = "embeddings.token_type_embeddings.weight",
                      .embedding_norm = "embeddings.LayerNorm",
                      .norm_after_attention = "encoder.layer.{i}.attention.output.LayerNorm",
                      .norm_after_mlp = "encoder.layer.{i}.output.LayerNorm",
                      .mlp = {{.up = "encoder.layer.{i}.intermediate.dense", .down = "encoder.layer.{i}.output.dense"}},
                      .transform = "cls.predictions.transform.dense",
                      .transform_norm = "cls.predictions.transform.LayerNorm",
                      .unembedding_bias = "cls.predictions.bias"}};
}

/// RoBERTa's: the head has names of its own.
[[nodiscard]] inline Layout roberta_layout(const std::string& prefix) {
  Layout layout = bert_layout(prefix);
  layout.unembedding = {"lm_head.decoder.weight"};
  layout.forward.transform = "lm_head.dense";
  layout.forward.transform_norm = "lm_head.layer_norm";
  layout.forward.unembedding_bias = "lm_head.bias";
  return layout;
}

/// RoBERTa counts positions from 2, without padding.
[[nodiscard]] inline ForwardRules roberta_rules(double epsilon = 1e-12) {
  return {
      .exact_gelu_before_unembedding = true, .epsilon = epsilon, .position_offset = 2, .positions_skip_padding = true};
}

}  // namespace headscope
