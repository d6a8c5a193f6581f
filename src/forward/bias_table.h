#pragma once

#include <cstddef>
#include <span>

#include "headscope/base/matrix.h"
#include "headscope/model/model.h"
#include "headscope/model/network.h"

namespace headscope {

/// What a network adds to the scores, for one length of input: by head and distance.
class BiasTable {
 public:
  BiasTable(const Model& model, const Network& network, std::size_t tokens);

  /// The bias of every key for one query.
  [[nodiscard]] std::span<const float> row(std::size_t head, std::size_t query) const;

 private:
  std::size_t tokens_;
  Matrix values_;  // [head, distance of the key from the query + tokens - 1]
};

}  // namespace headscope
