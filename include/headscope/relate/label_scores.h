#pragma once

#include <cstddef>
#include <span>

#include "headscope/relate/head_graph.h"
#include "headscope/relate/labels.h"

namespace headscope {

/// A pair of heads: its affinity, and whether the labels make it a positive.
struct ScoredPair {
  double score = 0;
  bool positive = false;
};

/// How well an affinity finds the positive pairs. Undefined values are NaN.
struct LabelScores {
  std::size_t pairs = 0;
  std::size_t positives = 0;
  double roc_auc = 0;            ///< NaN unless there are both positives and negatives.
  double average_precision = 0;  ///< PR-AUC. NaN without positives; 1 if all pairs are positives.
  double precision_at_k = 0;     ///< NaN without pairs or for k = 0.
};

/// Scores a ranking by descending score. The result does not depend on the order of `pairs`:
///
/// - ROC-AUC is the probability that a positive ranks before a negative; ties count half.
/// - PR-AUC is the average precision sum_n (R_n - R_(n-1)) P_n over the distinct scores, where R_n and P_n are recall
///   and precision of the pairs at or above the n-th score: scikit-learn's `average_precision_score`. It does not
///   interpolate.
/// - precision at k is the fraction of positives among the first k pairs, or among all if there are fewer. If there is
/// a
///   tie at place k, it is the mean over all orders of the tied pairs.
///
/// Cost: O(n log n), and one copy of the pairs.
///
/// \throws Error  kNumeric if a score is not finite.
[[nodiscard]] LabelScores score_labels(std::span<const ScoredPair> pairs, std::size_t k);

/// Numbers of distinct heads.
struct ClassCounts {
  std::size_t inside = 0;   ///< In at least one class, including ignored ones.
  std::size_t outside = 0;  ///< In no class.
};

/// Counts the heads at the ends of the `k` highest-scoring edges of each role pair (HeadGraph::top_edges), each once.
///
/// Ignored classes count as inside, as in the PK paper: its 24 heads inside and 28 outside of classes are reproduced
/// only with the two identity heads among the 24.
[[nodiscard]] ClassCounts count_heads(const HeadGraph& graph, const HeadLabels& labels, std::size_t k);

}  // namespace headscope
