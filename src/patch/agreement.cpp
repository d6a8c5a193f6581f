#include "headscope/patch/agreement.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "headscope/base/median.h"
#include "headscope/base/random.h"
#include "headscope/base/rank_correlation.h"
#include "headscope/relate/label_scores.h"

namespace headscope {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kQuantile = 0.99;
constexpr std::size_t kPermutations = 9999;

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return kNan;
  std::ranges::sort(values);
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

double median_or_nan(std::span<const double> values) {
  return values.empty() ? kNan : median({values.begin(), values.end()});
}

// Sum of the ranks of the first `count` values, against random choices of as many.
double rank_sum_p(std::span<const double> chosen, std::span<const double> controls, Random random) {
  if (chosen.empty() || controls.empty()) return kNan;
  std::vector<double> all(chosen.begin(), chosen.end());
  all.insert(all.end(), controls.begin(), controls.end());
  std::vector<double> ranks = mean_ranks(std::span<const double>(all));
  const auto sum = [&] {
    double total = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i) total += ranks[i];
    return total;
  };
  const double observed = sum();
  std::size_t as_large = 0;
  for (std::size_t draw = 0; draw < kPermutations; ++draw) {
    for (std::size_t i = 0; i < chosen.size(); ++i) std::swap(ranks[i], ranks[i + random.index(ranks.size() - i)]);
    if (sum() >= observed) ++as_large;
  }
  return static_cast<double>(1 + as_large) / static_cast<double>(1 + kPermutations);
}

// Probability that the k largest of all values are chosen ones, where k is the number of chosen values above every
// control (precedence test): it notices few large effects, where the sum of ranks notices many small ones.
double precedence_p(std::span<const double> chosen, std::span<const double> controls) {
  if (chosen.empty() || controls.empty()) return kNan;
  const double largest = std::ranges::max(controls);
  const auto above = std::ranges::count_if(chosen, [&](double value) { return value > largest; });
  double p = 1;
  for (std::ptrdiff_t i = 0; i < above; ++i) {
    p *= static_cast<double>(std::ssize(chosen) - i) /
         static_cast<double>(std::ssize(chosen) + std::ssize(controls) - i);
  }
  return p;
}

// Effects of one sample, and what might predict them.
struct SampleValues {
  std::vector<double> effect;
  std::vector<double> pk;
  std::vector<double> z;
  std::vector<double> local;
  std::vector<double> chosen;
  std::vector<double> controls;
};

SampleValues values_of(std::span<const MeasuredEdge> edges, Role role, EdgeKind sample) {
  SampleValues found;
  for (const MeasuredEdge& one : edges) {
    if (one.edge.role != role || one.sample != sample || !one.effect) continue;
    const double size = std::abs(*one.effect);
    found.effect.push_back(size);
    found.pk.push_back(one.pk);
    found.z.push_back(one.z);
    found.local.push_back(one.local);
    (one.kind == EdgeKind::kControl ? found.controls : found.chosen).push_back(size);
  }
  return found;
}

double level_of(std::span<const MeasuredEdge> edges, Role role) {
  std::vector<double> effects;
  for (const MeasuredEdge& one : edges) {
    if (one.edge.role == role && one.kind == EdgeKind::kControl && one.effect) effects.push_back(std::abs(*one.effect));
  }
  return control_level(std::move(effects));
}

Agreement compare_sample(const SampleValues& values, double level, const Random& random) {
  Agreement one{compare_effects(values.chosen, values.controls, level, random)};
  one.auc_pk = auc_above(values.pk, values.effect, level);
  one.auc_z = auc_above(values.z, values.effect, level);
  one.auc_local = auc_above(values.local, values.effect, level);
  one.rank_correlation_pk = effect_correlation(values.pk, values.effect);
  one.rank_correlation_local = effect_correlation(values.local, values.effect);
  return one;
}

}  // namespace

double control_level(std::vector<double> controls) {
  return quantile(std::move(controls), kQuantile);
}

double auc_above(std::span<const double> predictor, std::span<const double> effects, double level) {
  if (std::isnan(level)) return kNan;
  std::vector<ScoredPair> pairs;
  for (std::size_t i = 0; i < predictor.size(); ++i) pairs.push_back({predictor[i], effects[i] > level});
  return score_labels(pairs, 1).roc_auc;
}

double effect_correlation(std::span<const double> predictor, std::span<const double> effects) {
  constexpr std::size_t kFewest = 3;
  return predictor.size() < kFewest ? kNan : rank_correlation(predictor, effects);
}

EffectComparison compare_effects(std::span<const double> chosen, std::span<const double> controls, double level,
                                 const Random& random) {
  EffectComparison one;
  one.chosen = chosen.size();
  one.controls = controls.size();
  one.level = level;
  one.above = static_cast<std::size_t>(std::ranges::count_if(chosen, [&](double size) { return size > level; }));
  one.median = median_or_nan(chosen);
  one.median_control = median_or_nan(controls);
  // NaN without controls.
  const double smaller = std::min(rank_sum_p(chosen, controls, random), precedence_p(chosen, controls));
  one.p = smaller > 0.5 ? 1 : 2 * smaller;
  // All chosen edges above all controls.
  double least = 1;
  for (std::size_t i = 0; i < one.chosen; ++i) {
    least *= static_cast<double>(one.chosen - i) / static_cast<double>(one.chosen + one.controls - i);
  }
  one.least_p = std::min(1.0, 2 * least);
  return one;
}

std::vector<Agreement> compare_with_controls(std::span<MeasuredEdge> edges, std::span<const Role> roles,
                                             std::uint64_t seed) {
  std::vector<Agreement> all;
  for (const Role role : roles) {
    const double level = level_of(edges, role);
    for (const EdgeKind sample : {EdgeKind::kTop, EdgeKind::kScreen, EdgeKind::kGiven}) {
      const SampleValues values = values_of(edges, role, sample);
      if (values.chosen.empty()) continue;
      all.push_back(compare_sample(
          values, level, Random(seed, {static_cast<std::uint64_t>(role), static_cast<std::uint64_t>(sample)})));
      all.back().role = role;
      all.back().sample = sample;
    }
    for (MeasuredEdge& edge : edges) {
      if (edge.edge.role != role || !edge.effect || std::isnan(level)) continue;
      edge.above_controls = std::abs(*edge.effect) > level;
      edge.in_circuit = edge.above_controls && edge.beyond_chance;
    }
  }
  return all;
}

}  // namespace headscope
