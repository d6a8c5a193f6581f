#pragma once

#include <cstddef>
#include <span>

#include "headscope/relate/head_graph.h"
#include "headscope/relate/labels.h"

namespace headscope {

/// A pair of heads: how large its affinity is, and whether the labels call it a positive.
struct ScoredPair {
  double score = 0;
  bool positive = false;
};

/// How well an affinity finds the positive pairs. NaN where a number is not defined.
struct LabelScores {
  std::size_t pairs = 0;
  std::size_t positives = 0;
  double roc_auc = 0;            ///< NaN unless there are both positives and negatives.
  double average_precision = 0;  ///< PR-AUC. NaN without positives; 1 if all pairs are positives.
  double precision_at_k = 0;     ///< NaN without pairs or for k = 0.
};

/// Scores a ranking in which larger scores come first. Nothing depends on the order of `pairs`:
///
/// - ROC-AUC is the probability that a positive stands before a negative, ties counting half.
/// - PR-AUC is the average precision sum_n (R_n - R_(n-1)) P_n over the distinct scores, with
///   R_n and P_n recall and precision of the pairs at or above the n-th one: scikit-learn's
///   `average_precision_score`. It does not interpolate.
/// - precision@k is the share of positives among the first k pairs, or among all if they are
///   fewer. Where the k-th place is tied, the mean over all orders of the tied pairs.
///
/// Cost: O(n log n), and one copy of the pairs.
///
/// \throws Error  kNumeric if a score is not finite.
[[nodiscard]] LabelScores score_labels(std::span<const ScoredPair> pairs, std::size_t k);

/// Distinct heads.
struct ClassCounts {
  std::size_t inside = 0;   ///< In at least one class, ignored ones included.
  std::size_t outside = 0;  ///< In none.
};

/// Counts the heads at the ends of the `k` edges of largest score of every role pair
/// (HeadGraph::top_edges), each once.
///
/// Ignored classes count as inside: so does the PK paper, whose 24 heads inside and 28
/// outside its classes are met only with the two identity heads among the 24.
[[nodiscard]] ClassCounts count_heads(const HeadGraph& graph, const HeadLabels& labels, std::size_t k);

}  // namespace headscope
