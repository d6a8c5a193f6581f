#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "headscope/base/matrix.h"

namespace headscope {

/// Queries, keys or values of a layer: head a's components for token t begin at data + t * row_stride + first +
/// a * stride.
struct HeadColumns {
  float* data = nullptr;
  std::size_t row_stride = 0;
  std::size_t first = 0;
  std::size_t stride = 0;

  [[nodiscard]] float* at(std::size_t token, std::size_t head) const {
    return data + token * row_stride + first + head * stride;
  }
};

/// What attention needs to know of a layer and of one input in it.
struct AttentionTask {
  HeadColumns q;
  HeadColumns k;
  HeadColumns v;
  MatrixSpan out;  ///< One row a token, the heads one after another.
  std::size_t heads;
  std::size_t kv_heads;
  std::size_t d_head;
  float scale;
  float cap;  ///< 0 for none.
  bool causal;
  std::size_t window;  ///< 0 for none.
  /// By head: what it writes instead, or empty.
  std::span<const std::vector<float>> replacements;
  /// By head: whether its maps are wanted.
  std::vector<bool> wanted;
  std::size_t first_query;
  std::size_t last_query;
  /// Blocks held at a time, whatever the number of threads.
  std::size_t most_blocks;
  /// Called with head, first query and the rows; empty if nobody asks.
  std::function<void(std::size_t, std::size_t, MatrixView)> on_scores;
  std::function<void(std::size_t, std::size_t, MatrixView)> on_pattern;
};

/// out = softmax(mask(cap(scale Q K^T))) V for every head, a block of queries at a time, on all threads.
void attend(const AttentionTask& task);

/// Bytes of one block of an input of that many tokens, what a receiver may make of it included.
[[nodiscard]] std::size_t block_memory(std::size_t tokens);

}  // namespace headscope
