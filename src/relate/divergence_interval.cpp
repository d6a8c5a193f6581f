#include "relate/divergence_interval.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headscope/base/parallel.h"
#include "headscope/base/random.h"

namespace headscope {
namespace {

enum RandomStream : std::uint64_t { kHeads = 0, kNull = 1 };

// Multiplicity of every head in one draw; query and KV heads are drawn among themselves.
std::vector<double> multiplicities(const std::vector<bool>& key_value, Random& random) {
  std::vector<double> result(key_value.size());
  for (const bool kind : {false, true}) {
    std::vector<std::size_t> heads;
    for (std::size_t i = 0; i < key_value.size(); ++i) {
      if (key_value[i] == kind) heads.push_back(i);
    }
    for (std::size_t i = 0; i < heads.size(); ++i) ++result[heads[random.index(heads.size())]];
  }
  return result;
}

// Divergences of the draws, ascending. A draw without any pair is left out.
std::vector<double> bootstrap(std::span<const double> random, std::span<const BinnedPair> pairs,
                              const std::vector<bool>& key_value, std::size_t draws, std::uint64_t seed) {
  std::vector<double> values(draws, -1);
  parallel_for(draws, [&](std::size_t draw) {
    Random numbers(seed, {kHeads, draw});
    const std::vector<double> times = multiplicities(key_value, numbers);
    std::vector<double> counts(random.size() + 1);
    for (const BinnedPair& pair : pairs) counts[pair.bin] += times[pair.source] * times[pair.target];
    const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
    counts.pop_back();
    if (total > 0) values[draw] = divergence_of_counts(random, counts, total);
  });
  std::erase(values, -1);
  std::ranges::sort(values);
  return values;
}

// Poisson with this mean; above 50 rounded normal.
double poisson(double mean, Random& random) {
  if (mean > 50) return std::max(0.0, std::round(mean + std::sqrt(mean) * random.normal()));
  double count = 0;
  for (double product = random.uniform(); product > std::exp(-mean); product *= random.uniform()) ++count;
  return count;
}

// 99.5 % quantile of the divergence of `total` independent pairs of random subspaces. Pairs that share a head are not
// independent: with the 95 % quantile, models without wiring were found to have some in 11 to 16 % of cases.
double random_quantile(std::span<const double> random, double total, std::size_t draws, std::uint64_t seed) {
  std::vector<double> values(draws);
  Random numbers(seed, {kNull});
  for (double& value : values) {
    std::vector<double> counts;
    for (const double p : random) counts.push_back(poisson(total * p, numbers));
    value = divergence_of_counts(random, counts, std::max(1.0, std::accumulate(counts.begin(), counts.end(), 0.0)));
  }
  std::ranges::sort(values);
  return values[values.size() * 199 / 200];
}

// Standard deviation of the linearized divergence, with pairs that share a head dependent: the sum over heads of the
// squared sum over the head's pairs counts every pair twice.
double shared_head_deviation(std::span<const double> random, std::span<const BinnedPair> pairs, std::size_t heads,
                             std::span<const double> counts) {
  const auto n = static_cast<double>(pairs.size());
  const bool smooth = std::ranges::find(counts, 0.0) != counts.end();
  const double extra = smooth ? 0.5 : 0;
  const double total = n + extra * static_cast<double>(counts.size());
  std::vector<double> influence(random.size() + 1);  // of one pair, by bin; 0 outside
  double mean = 0;
  for (std::size_t b = 0; b < random.size(); ++b) {
    influence[b] = -random[b] * total / (counts[b] + extra);
    mean += influence[b] * counts[b] / n;
  }
  for (double& value : influence) value -= mean;
  std::vector<double> sums(heads);
  double squares = 0;
  for (const BinnedPair& pair : pairs) {
    sums[pair.source] += influence[pair.bin];
    sums[pair.target] += influence[pair.bin];
    squares += influence[pair.bin] * influence[pair.bin];
  }
  double shared = 0;
  for (const double sum : sums) shared += sum * sum;
  const auto count = static_cast<double>(heads);
  return std::sqrt(std::max(shared * count / (count - 1) - squares, squares)) / n;
}

}  // namespace

double divergence_of_counts(std::span<const double> random, std::span<const double> counts, double total,
                            bool* smoothed) {
  const bool smooth = std::ranges::find(counts, 0.0) != counts.end();
  if (smoothed != nullptr) *smoothed = smooth;
  const double extra = smooth ? 0.5 : 0;
  total += extra * static_cast<double>(counts.size());
  double value = 0;
  for (std::size_t b = 0; b < random.size(); ++b) {
    value += random[b] * std::log(random[b] * total / (counts[b] + extra));
  }
  return value;
}

double divergence_ceiling(std::span<const double> random, double total) {
  return divergence_of_counts(random, std::vector<double>(random.size()), total);
}

double mass_in_sparse_bins(std::span<const double> random, std::span<const double> counts) {
  constexpr double kFew = 5;
  const double extra = std::ranges::find(counts, 0.0) != counts.end() ? 0.5 : 0;
  double mass = 0;
  for (std::size_t b = 0; b < random.size(); ++b) mass += counts[b] + extra < kFew ? random[b] : 0;
  return mass;
}

std::pair<double, double> divergence_interval(std::span<const double> random, std::span<const BinnedPair> pairs,
                                              const std::vector<bool>& key_value, std::size_t draws,
                                              std::uint64_t seed) {
  std::vector<double> counts(random.size() + 1);
  for (const BinnedPair& pair : pairs) ++counts[pair.bin];
  counts.pop_back();
  const auto total = static_cast<double>(pairs.size());
  const double value = divergence_of_counts(random, counts, total);
  const std::vector<double> values = bootstrap(random, pairs, key_value, draws, seed);
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double variance = 0;
  for (const double one : values) variance += (one - mean) * (one - mean) / count;
  const double margin = 1.1 + 3 / static_cast<double>(key_value.size());
  const double wanted = margin * shared_head_deviation(random, pairs, key_value.size(), counts);
  const double scale = variance > 0 ? std::min(1.0, wanted / std::sqrt(variance)) : 1;
  const auto quantile = [&](double level) {
    const double one = values[static_cast<std::size_t>(std::lround(level * (count - 1)))];
    return value - scale * scale * (mean - value) + scale * (one - mean);
  };
  double low = std::clamp(quantile(0.025), 0.0, value);
  if (value <= random_quantile(random, total, draws, seed)) low = 0;
  return {low, std::max(quantile(0.975), value)};
}

}  // namespace headscope
