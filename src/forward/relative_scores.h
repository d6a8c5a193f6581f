#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "headscope/base/buffer.h"
#include "headscope/base/matrix.h"
#include "headscope/model/model.h"
#include "headscope/model/network.h"

namespace headscope {

/// What relative positions add to the scores of one layer (arXiv 2006.03654): q_i . K_b + k_j . Q_b, where K and Q are
/// projections of the table of positions and b is the bucket of the distance i - j; with Transformer-XL's biases
/// u . k_j + (q_i + v) . K_b (arXiv 1901.02860).
class RelativeScores {
 public:
  RelativeScores(const Model& model, const Network& network, const NetworkLayer& layer, std::size_t tokens,
                 Buffer<float>& scratch);

  /// Adds `scale` times that to the scores of some queries, from `first` on, and the keys from `first_key` on. `q` and
  /// `k` have one row per query and key.
  void add(std::size_t head, MatrixView q, std::size_t first, MatrixView k, std::size_t first_key, float scale,
           MatrixSpan scores) const;

 private:
  std::size_t d_head_;
  std::size_t tokens_;
  std::optional<Matrix> keys_;       // [bucket, heads * d_head], of those in use: what queries are compared with
  std::optional<Matrix> queries_;    // the same for keys
  std::vector<float> content_bias_;  // u and v by head; empty for none
  std::vector<float> position_bias_;
  std::vector<std::size_t> buckets_;  // by distance + tokens - 1: rows of keys_ and queries_
};

}  // namespace headscope
