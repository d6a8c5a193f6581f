#include "headscope/relate/label_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "headscope/base/error.h"

namespace headscope {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Pairs with equal scores.
struct Tie {
  double positives = 0;
  double negatives = 0;
  [[nodiscard]] double pairs() const noexcept { return positives + negatives; }
};

// Largest score first. Counts are doubles: exact up to 2^53 pairs.
std::vector<Tie> group_by_score(std::span<const ScoredPair> pairs) {
  std::vector<ScoredPair> sorted(pairs.begin(), pairs.end());
  std::ranges::sort(sorted, std::ranges::greater{}, &ScoredPair::score);
  std::vector<Tie> ties;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i == 0 || sorted[i].score != sorted[i - 1].score) ties.emplace_back();
    (sorted[i].positive ? ties.back().positives : ties.back().negatives) += 1;
  }
  return ties;
}

double roc_auc(std::span<const Tie> ties, const Tie& all) {
  if (all.positives == 0 || all.negatives == 0) return kNan;
  double wins = 0;
  double negatives_before = 0;
  for (const Tie& tie : ties) {
    wins += tie.positives * (all.negatives - negatives_before - tie.negatives / 2);
    negatives_before += tie.negatives;
  }
  return wins / (all.positives * all.negatives);
}

double average_precision(std::span<const Tie> ties, const Tie& all) {
  if (all.positives == 0) return kNan;
  double sum = 0;
  Tie so_far;
  for (const Tie& tie : ties) {
    so_far.positives += tie.positives;
    so_far.negatives += tie.negatives;
    sum += tie.positives * (so_far.positives / so_far.pairs());
  }
  return sum / all.positives;
}

double precision_at(std::span<const Tie> ties, const Tie& all, std::size_t k) {
  const double places = std::min(static_cast<double>(k), all.pairs());
  if (places == 0) return kNan;
  double left = places;
  double positives = 0;
  for (const Tie& tie : ties) {
    const double taken = std::min(left, tie.pairs());
    positives += tie.positives * (taken / tie.pairs());
    left -= taken;
    if (left == 0) break;
  }
  return positives / places;
}

}  // namespace

LabelScores score_labels(std::span<const ScoredPair> pairs, std::size_t k) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (!std::isfinite(pairs[i].score)) {
      throw Error(ErrorKind::kNumeric, fmt::format("score_labels: pair {} of {} has score {}, expected a finite number",
                                                   i, pairs.size(), pairs[i].score));
    }
  }
  const std::vector<Tie> ties = group_by_score(pairs);
  Tie all;
  for (const Tie& tie : ties) {
    all.positives += tie.positives;
    all.negatives += tie.negatives;
  }
  return {pairs.size(), static_cast<std::size_t>(all.positives), roc_auc(ties, all), average_precision(ties, all),
          precision_at(ties, all, k)};
}

ClassCounts count_heads(const HeadGraph& graph, const HeadLabels& labels, std::size_t k) {
  std::set<std::size_t> nodes;
  for (const std::size_t i : graph.top_edges(k)) {
    nodes.insert(graph.edges()[i].source);
    nodes.insert(graph.edges()[i].target);
  }
  ClassCounts counts;
  for (const std::size_t node : nodes)
    ++(labels.is_in_class(graph.nodes()[node].head_id()) ? counts.inside : counts.outside);
  return counts;
}

}  // namespace headscope
