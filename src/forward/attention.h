#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "forward/head_columns.h"
#include "forward/score_rules.h"
#include "headscope/base/matrix.h"

namespace headscope {

/// One layer's attention on one input.
struct AttentionTask {
  HeadColumns q;
  HeadColumns k;
  HeadColumns v;
  MatrixSpan out;    ///< One row per token, the heads concatenated.
  std::size_t keys;  ///< Number of tokens of K and V.
  std::size_t heads;
  std::size_t kv_heads;
  std::size_t d_key;    ///< Width of queries and keys.
  std::size_t d_value;  ///< Width of values and outputs.
  ScoreRules rules;
  /// By head: its replacement output, or empty.
  std::span<const std::vector<float>> replacements;
  /// By head: whether its maps are wanted.
  std::vector<bool> wanted;
  std::size_t first_query;
  std::size_t end_query;
  /// Maximum number of blocks held at a time, for any number of threads.
  std::size_t max_blocks;
  /// Called with head, first query and the rows; may be empty.
  std::function<void(std::size_t, std::size_t, MatrixView)> on_scores;
  std::function<void(std::size_t, std::size_t, MatrixView)> on_pattern;
};

/// Calls run(i) for every block on all threads, at most `max_blocks` at a time.
void for_blocks(std::size_t blocks, std::size_t max_blocks, const std::function<void(std::size_t)>& run);

/// out = softmax(mask(cap(scale (Q K^T + relative)) + bias)) V for every head, one block of queries at a time, on all
/// threads. A sink takes part in the softmax only.
void attend(const AttentionTask& task);

/// Bytes per block for an input of that many tokens, as queries and as keys, including the float16 copy a receiver may
/// make.
[[nodiscard]] std::size_t block_memory(std::size_t tokens);

}  // namespace headscope
