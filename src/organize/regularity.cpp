#include "headscope/organize/regularity.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <vector>

namespace headscope {
namespace {

constexpr std::size_t kMostInBin = 65536;

// -log2 of the volume of every coefficient of an axis; infinite for one that is no contrast there.
std::vector<double> depths(const TensorHaar& haar, std::size_t axis) {
  std::vector<double> result(haar.extents[axis], 0);
  if (haar.bases[axis] == nullptr || haar.extents[axis] == 1) return result;
  const auto volumes = haar.bases[axis]->volumes();
  for (std::size_t k = 0; k < result.size(); ++k) result[k] = -std::log2(volumes[k]);
  result[0] = std::numeric_limits<double>::infinity();
  return result;
}

struct Bin {
  std::size_t count = 0;
  std::size_t seen = 0;
  double depth = 0;  // sum
  std::vector<double> magnitudes;
};

// Calls visit(index, bin, depth) for every coefficient that is taken, in order.
template <typename Visit>
void for_each_contrast(const TensorHaar& haar, const Visit& visit) {
  const std::array<std::vector<double>, 3> depth = {depths(haar, 0), depths(haar, 1), depths(haar, 2)};
  std::size_t index = 0;
  for (const double first : depth[0]) {
    for (const double second : depth[1]) {
      const double both = first + second;
      if (std::isinf(both)) {
        index += depth[2].size();
        continue;
      }
      for (const double third : depth[2]) {
        if (!std::isinf(third)) visit(index, static_cast<std::size_t>(std::lround(both + third)), both + third);
        ++index;
      }
    }
  }
}

// A weighted line through points: slope and its standard error.
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

template <typename T>
Regularity fit(std::span<const T> coefficients, const TensorHaar& haar, const RegularityOptions& options) {
  assert(coefficients.size() == haar.size());
  std::vector<Bin> bins;
  for_each_contrast(haar, [&](std::size_t, std::size_t bin, double depth) {
    if (bin >= bins.size()) bins.resize(bin + 1);
    ++bins[bin].count;
    bins[bin].depth += depth;
  });
  for_each_contrast(haar, [&](std::size_t index, std::size_t bin, double) {
    Bin& here = bins[bin];
    const std::size_t stride = (here.count + kMostInBin - 1) / kMostInBin;
    if (here.seen++ % stride == 0) here.magnitudes.push_back(std::abs(static_cast<double>(coefficients[index])));
  });
  std::vector<Point> points;
  for (Bin& bin : bins) {
    if (bin.count < options.smallest_bin) continue;
    const auto rank = static_cast<std::ptrdiff_t>(options.quantile * static_cast<double>(bin.magnitudes.size() - 1));
    std::nth_element(bin.magnitudes.begin(), bin.magnitudes.begin() + rank, bin.magnitudes.end());
    const double bound = bin.magnitudes[static_cast<std::size_t>(rank)];
    if (bound <= 0) continue;
    // The variance of a sample quantile falls with the size of the sample.
    const auto count = static_cast<double>(bin.count);
    points.push_back({-bin.depth / count, std::log2(bound), count});
  }
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (points.size() < 3) return {kNone, kNone, kNone, points.size()};
  const Line line = fit_line(points);
  const double alpha = line.slope - 0.5;
  const double half = student_95(points.size() - 2) * line.error;
  return {alpha, alpha - half, alpha + half, points.size()};
}

}  // namespace

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
