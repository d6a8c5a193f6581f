#include "headscope/organize/regularity.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <type_traits>
#include <vector>

#include "headscope/base/parallel.h"
#include "organize/contrast_bins.h"

namespace headscope {
namespace {

// Slope of a weighted line fit, and its standard error.
struct Line {
  double slope = 0;
  double error = 0;
};
struct Point {
  double x;
  double y;
  double weight;
};
Line fit_line(std::span<const Point> points) {
  double total = 0;
  double mean_x = 0;
  double mean_y = 0;
  for (const Point& p : points) {
    total += p.weight;
    mean_x += p.weight * p.x;
    mean_y += p.weight * p.y;
  }
  mean_x /= total;
  mean_y /= total;
  double xx = 0;
  double xy = 0;
  for (const Point& p : points) {
    xx += p.weight * (p.x - mean_x) * (p.x - mean_x);
    xy += p.weight * (p.x - mean_x) * (p.y - mean_y);
  }
  const double slope = xy / xx;
  double residual = 0;
  for (const Point& p : points) {
    const double off = p.y - mean_y - slope * (p.x - mean_x);
    residual += p.weight * off * off;
  }
  return {slope, std::sqrt(residual / static_cast<double>(points.size() - 2) / xx)};
}

// Returns the element at index `rank` in sorted order. All magnitudes must be nonnegative.
template <typename T>
T select(std::span<T> magnitudes, std::size_t rank) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr std::size_t kFew = 1024;
  constexpr int kLeading = 12;
  constexpr int kShift = static_cast<int>(8 * sizeof(T)) - 1 - kLeading;
  // Nonnegative floats are ordered like their bits: a histogram of the leading bits leaves few to compare.
  if (magnitudes.size() > kFew) {
    std::array<std::uint32_t, std::size_t{1} << kLeading> counts{};
    for (const T value : magnitudes) ++counts[std::bit_cast<Bits>(value) >> kShift];
    std::size_t leading = 0;
    while (rank >= counts[leading]) rank -= counts[leading++];
    const auto others = std::partition(magnitudes.begin(), magnitudes.end(),
                                       [&](T value) { return std::bit_cast<Bits>(value) >> kShift == leading; });
    magnitudes = magnitudes.first(static_cast<std::size_t>(others - magnitudes.begin()));
  }
  const auto found = magnitudes.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(magnitudes.begin(), found, magnitudes.end());
  return *found;
}

template <typename T>
Regularity fit(std::span<const T> coefficients, const TensorHaar& haar, const RegularityOptions& options) {
  assert(coefficients.size() == haar.size());
  const ContrastBins bins(haar);
  const std::size_t map = haar.extents[1] * haar.extents[2];
  BinSamples<T> samples;
  std::mutex mutex;
  parallel_for(haar.extents[0], [&](std::size_t head) {
    BinSamples<T> of_head;
    bins.sample(head, 0, coefficients.subspan(head * map, map), of_head);
    const std::lock_guard lock(mutex);
    add_samples(samples, std::move(of_head));
  });
  return fit_regularity(bins, std::move(samples), options);
}

}  // namespace

template <typename T>
Regularity fit_regularity(const ContrastBins& bins, BinSamples<T> samples, const RegularityOptions& options) {
  std::vector<double> bounds(bins.bins().size(), 0);
  parallel_for(bounds.size(), [&](std::size_t b) {
    if (bins.bins()[b].count < options.smallest_bin || samples[b].empty()) return;
    const double rank = options.quantile * static_cast<double>(samples[b].size() - 1);
    bounds[b] = static_cast<double>(select(std::span(samples[b]), static_cast<std::size_t>(rank)));
  });
  std::vector<Point> points;
  for (std::size_t b = 0; b < bounds.size(); ++b) {
    if (bounds[b] <= 0) continue;
    // The variance of a sample quantile is inversely proportional to the sample size.
    const auto count = static_cast<double>(bins.bins()[b].count);
    points.push_back({-bins.bins()[b].depth / count, std::log2(bounds[b]), count});
  }
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (points.size() < 3) return {kNone, kNone, kNone, points.size()};
  const Line line = fit_line(points);
  const double alpha = line.slope - 0.5;
  const double half = student_95(points.size() - 2) * line.error;
  return {alpha, alpha - half, alpha + half, points.size()};
}

template Regularity fit_regularity(const ContrastBins&, BinSamples<float>, const RegularityOptions&);
template Regularity fit_regularity(const ContrastBins&, BinSamples<double>, const RegularityOptions&);

Regularity fit_regularity(std::span<const float> coefficients, const TensorHaar& haar,
                          const RegularityOptions& options) {
  return fit(coefficients, haar, options);
}

Regularity fit_regularity(std::span<const double> coefficients, const TensorHaar& haar,
                          const RegularityOptions& options) {
  return fit(coefficients, haar, options);
}

double student_95(std::size_t degrees) noexcept {
  constexpr std::array<double, 30> kTable = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                             2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                             2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  if (degrees == 0) return std::numeric_limits<double>::infinity();
  // Beyond the table, the first terms of the expansion around the normal quantile.
  const auto n = static_cast<double>(degrees);
  return degrees <= kTable.size() ? kTable[degrees - 1] : 1.959964 + 2.372271 / n + 2.82250 / (n * n);
}

}  // namespace headscope
