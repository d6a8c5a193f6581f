#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "forward/bias_table.h"
#include "forward/grid_bias.h"
#include "forward/head_columns.h"
#include "headscope/base/matrix.h"

namespace headscope {

class RelativeScores;

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
  float scale;
  std::span<const float> head_factors;  ///< By head: a factor on its scores, besides `scale`; empty: none.
  float cap;                            ///< 0: none.
  bool causal;
  std::size_t window;  ///< 0: none. A query sees that many tokens up to itself and, if not causal, from itself on.
  std::size_t chunk;   ///< 0: none. A query sees only keys of its own chunk of that many tokens.
  std::span<const float> sinks;    ///< By head: the score of one more key, whose value is 0; empty: none.
  const RelativeScores* relative;  ///< nullptr: none.
  const GridBias* grid_bias;       ///< nullptr: none.
  const BiasTable* bias;           ///< nullptr: none.
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

/// What the products of a head's queries and keys are multiplied by.
[[nodiscard]] float scale_of(const AttentionTask& task, std::size_t head);

/// Calls run(i) for every block on all threads, at most `max_blocks` at a time.
void for_blocks(std::size_t blocks, std::size_t max_blocks, const std::function<void(std::size_t)>& run);

/// Keys that a query sees: [first, last).
struct KeyRange {
  std::size_t first;
  std::size_t last;
};
[[nodiscard]] KeyRange keys_seen(std::size_t query, std::size_t tokens, bool causal, std::size_t window,
                                 std::size_t chunk);

/// softmax(x) without the share of one more score, `sink`, in place: the sum is less than 1.
void softmax_with_sink(std::span<float> x, float sink);

/// out = softmax(mask(cap(scale (Q K^T + relative)) + bias)) V for every head, one block of queries at a time, on all
/// threads. A sink takes part in the softmax only.
void attend(const AttentionTask& task);

/// Bytes per block for an input of that many tokens, as queries and as keys, including the float16 copy a receiver may
/// make.
[[nodiscard]] std::size_t block_memory(std::size_t tokens);

}  // namespace headscope
