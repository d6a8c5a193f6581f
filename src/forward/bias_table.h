#pragma once

#include <cstddef>
#include <span>

#include "headscope/base/matrix.h"
#include "headscope/model/model.h"
#include "headscope/model/network.h"

namespace headscope {

/// What is added to the scores, for one length of input: by head and distance.
class BiasTable {
 public:
  /// `causal`: queries see no keys after them, and all buckets of a learned bias are for those before.
  BiasTable(const Model& model, const ScoreBias& bias, bool causal, std::size_t tokens);

  /// The bias of every key for one query.
  [[nodiscard]] std::span<const float> row(std::size_t head, std::size_t query) const;

 private:
  std::size_t tokens_;
  Matrix values_;  // [head, distance of the key from the query + tokens - 1]
};

}  // namespace headscope
