#pragma once

#include <cstddef>
#include <span>

#include "forward/bias_table.h"
#include "forward/grid_bias.h"
#include "forward/relative_scores.h"
#include "forward/window_bias.h"
#include "forward/window_parts.h"
#include "headscope/base/matrix.h"

namespace headscope {

/// Keys that a query sees: [first, last).
struct KeyRange {
  std::size_t first;
  std::size_t last;
};

/// How queries and keys of one layer become patterns on one input. The forward pass and the screen of cut edges share
/// this. What is pointed to must outlive it.
struct ScoreRules {
  float scale = 1;
  std::span<const float> head_factors = {};  ///< By head: a factor on its scores, besides `scale`; empty: none.
  float cap = 0;                             ///< 0: none.
  bool causal = false;
  std::size_t window = 0;  ///< 0: none. A query sees that many tokens up to itself and, if not causal, from itself on.
  std::size_t chunk = 0;   ///< 0: none. A query sees only keys of its own chunk of that many tokens.
  std::span<const float> sinks = {};         ///< By head: the score of one more key, whose value is 0; empty: none.
  const RelativeScores* relative = nullptr;  ///< nullptr: none.
  const GridBias* grid_bias = nullptr;       ///< nullptr: none.
  const BiasTable* bias = nullptr;           ///< nullptr: none.
  const WindowParts* windows = nullptr;      ///< Patches attend within these; nullptr: every patch to all.
  const WindowBias* window_bias = nullptr;   ///< nullptr: none.

  /// What the products of a head's queries and keys are multiplied by.
  [[nodiscard]] float scale_of(std::size_t head) const {
    return head_factors.empty() ? scale : scale * head_factors[head];
  }
  /// The keys that a query sees, of an input of that many keys. Without windows of patches.
  [[nodiscard]] KeyRange seen_by(std::size_t query, std::size_t keys) const;
};

/// Computes cap(scale (q k^T + relative)) + bias for the queries from `first_query` on and the keys from `first_key`
/// on.
void compute_scores(const ScoreRules& rules, std::size_t head, MatrixView q, std::size_t first_query, MatrixView k,
                    std::size_t first_key, MatrixSpan scores);

/// Turns the scores of a query, one per key, into its pattern in place. Of the keys that it does not see, those in
/// `zeroed` become 0, and the others are left as they are. With a sink, the sum is less than 1.
void normalize_scores(const ScoreRules& rules, std::size_t head, std::size_t query, std::span<float> row,
                      KeyRange zeroed);

/// Computes the scores of the patches `tokens` of one window: one row per query, one column per key. `q` and `k` have
/// one row per patch of the window.
void compute_window_scores(const ScoreRules& rules, std::size_t head, std::span<const std::size_t> tokens, MatrixView q,
                           MatrixView k, MatrixSpan scores);

/// Computes the whole pattern of a head: one row per query, one column per key; 0 for keys that are not seen.
void compute_pattern(const ScoreRules& rules, std::size_t head, MatrixView q, MatrixView k, MatrixSpan pattern);

}  // namespace headscope
