#include "headscope/relate/informativeness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "headscope/base/error.h"
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

std::vector<double> later_values(const Affinities& affinities) {
  std::vector<double> values;
  for_each_later(affinities,
                 [&](std::size_t i, std::size_t j) { values.push_back(static_cast<double>(affinities.values(i, j))); });
  return values;
}

}  // namespace

BinnedDivergence binned_divergence(const NullMoments& random, std::span<const double> observed, double width) {
  const auto bin_of = [width](double value) { return static_cast<std::int64_t>(std::floor(value / width)); };
  std::map<std::int64_t, double> counts;
  for (const double value : observed) ++counts[bin_of(value)];

  // Beyond eight standard deviations, a Gaussian has less than the mass that counts.
  std::map<std::int64_t, double> touched;
  const std::int64_t last = bin_of(random.mean + 8 * random.deviation);
  for (std::int64_t bin = std::max<std::int64_t>(0, bin_of(random.mean - 8 * random.deviation)); bin <= last; ++bin) {
    const double p = mass(random, static_cast<double>(bin) * width, static_cast<double>(bin + 1) * width);
    if (p > kTouches) touched[bin] = p;
  }
  BinnedDivergence result;
  result.smoothed = std::ranges::any_of(touched, [&](const auto& bin) { return !counts.contains(bin.first); });
  auto total = static_cast<double>(observed.size());
  if (result.smoothed) {
    for (const auto& [bin, p] : touched) {
      counts[bin] += 0.5;
      total += 0.5;
    }
  }
  for (const auto& [bin, p] : touched) result.value += p * std::log(p * total / counts[bin]);
  return result;
}

Informativeness informativeness(const Affinities& affinities, std::size_t d_model, std::size_t d_head) {
  if (affinities.metric != Metric::kPk) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("informativeness is defined for metric 'pk', not for '{}'", info(affinities.metric).name));
  }
  const std::vector<double> values = later_values(affinities);
  if (values.empty()) {
    throw Error(ErrorKind::kInvalidArgument, "informativeness: no head is in an earlier layer than another");
  }
  const auto count = static_cast<double>(values.size());
  const auto rank = static_cast<double>(d_head);
  Informativeness result;
  result.pair = affinities.pair;
  result.pairs = values.size();
  for (const double value : values) result.observed_mean += value / count;
  double variance = 0;
  for (const double value : values) variance += (value - result.observed_mean) * (value - result.observed_mean) / count;
  result.observed_deviation = std::sqrt(variance);
  result.random = isotropic_moments({rank, rank}, {rank, rank}, d_model);
  if (result.random.deviation == 0) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format(
            "informativeness: heads of width {} span the whole residual stream of {}, so there is nothing to compare",
            d_head, d_model));
  }
  const BinnedDivergence paper = binned_divergence(result.random, values, result.paper_width);
  result.paper = paper.value;
  result.paper_smoothed = paper.smoothed;
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
