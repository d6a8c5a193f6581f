#include "headscope/relate/informativeness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "headscope/base/error.h"
#include "headscope/relate/later_values.h"
#include "relate/divergence_interval.h"
#include "relate/later_pairs.h"

namespace headscope {
namespace {

constexpr double kTouches = 1e-12;

// Mass of a Gaussian between two points, without cancellation on either side of the mean.
double mass(const NullMoments& random, double begin, double end) {
  const double a = (begin - random.mean) / random.deviation;
  const double b = (end - random.mean) / random.deviation;
  return a > 0 ? upper_tail(a) - upper_tail(b) : upper_tail(-b) - upper_tail(-a);
}

std::int64_t bin_of(double value, double width) {
  return static_cast<std::int64_t>(std::floor(value / width));
}

// The bins that random touches: where it has mass over 1e-12. They are consecutive.
struct TouchedBins {
  std::int64_t first = 0;
  std::vector<double> masses = {};

  // Number of bins if the value is in none of them.
  [[nodiscard]] std::size_t find(double value, double width) const {
    const std::int64_t bin = bin_of(value, width) - first;
    return bin < 0 ? masses.size() : std::min(static_cast<std::size_t>(bin), masses.size());
  }
};

TouchedBins touched_bins(const NullMoments& random, double width) {
  TouchedBins bins;
  // Beyond eight standard deviations, a Gaussian has less than the mass that counts.
  const std::int64_t last = bin_of(random.mean + 8 * random.deviation, width);
  const std::int64_t begin = std::max<std::int64_t>(0, bin_of(random.mean - 8 * random.deviation, width));
  for (std::int64_t bin = begin; bin <= last; ++bin) {
    const double p = mass(random, static_cast<double>(bin) * width, static_cast<double>(bin + 1) * width);
    if (p <= kTouches) continue;
    if (bins.masses.empty()) bins.first = bin;
    bins.masses.push_back(p);
  }
  return bins;
}

std::vector<double> count_values(const TouchedBins& bins, std::span<const double> values, double width) {
  std::vector<double> counts(bins.masses.size() + 1);
  for (const double value : values) ++counts[bins.find(value, width)];
  counts.pop_back();
  return counts;
}

// The earlier-to-later pairs, with heads as indices into one list: a head is the same on both sides.
struct LaterPairs {
  std::vector<double> values = {};
  std::vector<BinnedPair> pairs = {};  // without bins
  std::vector<bool> key_value = {};    // by head
};

LaterPairs later_pairs(const Affinities& affinities) {
  std::map<HeadId, std::uint32_t> heads;
  LaterPairs found;
  const auto index = [&](HeadId id) {
    const auto [place, is_new] = heads.try_emplace(id, static_cast<std::uint32_t>(heads.size()));
    if (is_new) found.key_value.push_back(id.key_value);
    return place->second;
  };
  const std::size_t count = count_later(affinities);
  found.values.reserve(count);
  found.pairs.reserve(count);
  for_each_later(affinities, [&](std::size_t i, std::size_t j) {
    found.values.push_back(static_cast<double>(affinities.values(i, j)));
    found.pairs.push_back({index(affinities.source.heads[i]), index(affinities.target.heads[j]), 0});
  });
  return found;
}

// The divergence with the bins of the paper, its ceiling and its interval.
void add_paper(Informativeness& result, LaterPairs& later, const BootstrapOptions& bootstrap) {
  const TouchedBins bins = touched_bins(result.random, result.paper_width);
  const std::vector<double> counts = count_values(bins, later.values, result.paper_width);
  const auto total = static_cast<double>(later.values.size());
  result.paper = divergence_of_counts(bins.masses, counts, total, &result.paper_smoothed);
  result.ceiling = divergence_ceiling(bins.masses, total);
  result.at_ceiling = result.paper >= 0.9 * result.ceiling;
  result.sparse_mass = mass_in_sparse_bins(bins.masses, counts);
  const bool covers = result.sparse_mass <= kMostSparseMass && result.paper <= kMostOfCeiling * result.ceiling;
  if (!covers || bootstrap.draws == 0) return;
  for (std::size_t i = 0; i < later.pairs.size(); ++i) {
    later.pairs[i].bin = static_cast<std::uint32_t>(bins.find(later.values[i], result.paper_width));
  }
  const auto [low, high] =
      divergence_interval(bins.masses, later.pairs, later.key_value, bootstrap.draws, bootstrap.seed);
  result.paper_low = low;
  result.paper_high = high;
}

}  // namespace

BinnedDivergence binned_divergence(const NullMoments& random, std::span<const double> observed, double width) {
  const TouchedBins bins = touched_bins(random, width);
  BinnedDivergence result;
  result.value = divergence_of_counts(bins.masses, count_values(bins, observed, width),
                                      static_cast<double>(observed.size()), &result.smoothed);
  return result;
}

Informativeness informativeness(const Affinities& affinities, std::size_t d_model, std::size_t source_width,
                                std::size_t target_width, const BootstrapOptions& bootstrap) {
  if (affinities.metric != Metric::kPk) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("informativeness is defined for metric 'pk', not for '{}'", info(affinities.metric).name));
  }
  LaterPairs later = later_pairs(affinities);
  const std::vector<double>& values = later.values;
  if (values.empty()) {
    throw Error(ErrorKind::kInvalidArgument, "informativeness: no head is in an earlier layer than another");
  }
  const auto count = static_cast<double>(values.size());
  const auto p = static_cast<double>(source_width);
  const auto q = static_cast<double>(target_width);
  Informativeness result;
  result.pair = affinities.pair;
  result.pairs = values.size();
  for (const double value : values) result.observed_mean += value / count;
  double variance = 0;
  for (const double value : values) variance += (value - result.observed_mean) * (value - result.observed_mean) / count;
  result.observed_deviation = std::sqrt(variance);
  result.random = isotropic_moments({p, p}, {q, q}, d_model);
  if (result.random.deviation == 0) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format(
            "informativeness: heads of width {} span the whole residual stream of {}, so there is nothing to compare",
            std::max(source_width, target_width), d_model));
  }
  add_paper(result, later, bootstrap);
  result.fine_width = result.random.deviation / 2;
  const BinnedDivergence fine = binned_divergence(result.random, values, result.fine_width);
  result.fine = fine.value;
  result.fine_smoothed = fine.smoothed;
  const double r = result.random.deviation;
  const double s = result.observed_deviation;
  const double shift = result.random.mean - result.observed_mean;
  result.closed_form = std::log(s / r) + (r * r + shift * shift) / (2 * s * s) - 0.5;
  return result;
}

}  // namespace headscope
