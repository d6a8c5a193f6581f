#pragma once

#include <string>

#include "headscope/model/family.h"

namespace headscope {

/// The names of BERT, which RoBERTa shares but for the prefix.
[[nodiscard]] inline Layout bert_layout(const std::string& prefix) {
  return {.prefixes = {prefix, ""},
          .q = "encoder.layer.{i}.attention.self.query",
          .k = "encoder.layer.{i}.attention.self.key",
          .v = "encoder.layer.{i}.attention.self.value",
          .o = "encoder.layer.{i}.attention.output.dense",
          .embedding = {"embeddings.word_embeddings.weight"},
          .unembedding = {"cls.predictions.decoder.weight"}};
}

}  // namespace headscope
