#include "headscope/relate/null_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "headscope/base/median.h"

#include "relate/later_pairs.h"

namespace headscope {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"isotropic", "matched", "span"};

// The affinity on the scale where the nulls are Gaussian.
double on_null_scale(const MetricInfo& metric, float value) {
  const double wide = static_cast<double>(value);
  return metric.root ? wide * wide : wide;
}

using MomentsOf = std::function<NullMoments(std::size_t, std::size_t)>;

MomentsOf span_moments(const Affinities& affinities) {
  const auto distance = [&affinities](std::size_t i, std::size_t j) {
    return affinities.target.heads[j].layer - affinities.source.heads[i].layer;
  };
  std::size_t layers = 0;
  for (const HeadId& head : affinities.target.heads) layers = std::max(layers, head.layer + 1);
  std::vector<std::vector<double>> classes(layers);
  for_each_later(affinities, [&](std::size_t i, std::size_t j) {
    classes[distance(i, j)].push_back(on_null_scale(info(affinities.metric), affinities.values(i, j)));
  });
  std::vector<NullMoments> moments(classes.size());
  for (std::size_t k = 0; k < layers; ++k) {
    std::vector<double>& values = classes[k];
    if (values.empty()) continue;
    NullMoments& found = moments[k];
    found.mean = median(values);
    for (double& value : values) value = std::abs(value - found.mean);
    found.deviation = 1.4826 * median(std::move(values));
  }
  return [moments = std::move(moments), distance](std::size_t i, std::size_t j) { return moments[distance(i, j)]; };
}

// The matched moments are for full rank. For heads of lower rank, mean and deviation are scaled like the isotropic
// ones.
MomentsOf scaled_moments(const Affinities& affinities, std::size_t d, const NullMoments& matched) {
  const auto isotropic = [d](std::size_t p, std::size_t q) {
    return isotropic_moments({static_cast<double>(p), static_cast<double>(p)},
                             {static_cast<double>(q), static_cast<double>(q)}, d);
  };
  std::size_t full = 0;
  for (const auto* ranks : {&affinities.source.ranks, &affinities.target.ranks}) {
    for (const std::size_t rank : *ranks) full = std::max(full, rank);
  }
  const NullMoments there = isotropic(full, full);
  return [=, &affinities](std::size_t i, std::size_t j) {
    if (affinities.source.ranks[i] == full && affinities.target.ranks[j] == full) return matched;
    const NullMoments here = isotropic(affinities.source.ranks[i], affinities.target.ranks[j]);
    return NullMoments{matched.mean * here.mean / there.mean,
                       there.deviation > 0 ? matched.deviation * here.deviation / there.deviation : 0};
  };
}

MomentsOf moments_of(const Affinities& affinities, NullModel null, std::size_t d, const NullMoments& matched) {
  switch (null) {
    case NullModel::kIsotropic:
      return [&affinities, d](std::size_t i, std::size_t j) {
        return isotropic_moments(affinities.source.moments[i], affinities.target.moments[j], d);
      };
    case NullModel::kMatched:
      return scaled_moments(affinities, d, matched);
    case NullModel::kSpan:
      return span_moments(affinities);
  }
  return {};
}

// Benjamini and Hochberg 1995: q of the r-th smallest of m p-values is the smallest p_s m / s over s >= r. Equal
// p-values have equal q, in any order.
void fill_q(const Affinities& affinities, Significance& result) {
  struct Pair {
    float z;
    std::uint32_t i, j;
  };
  std::vector<Pair> order;
  for_each_later(affinities, [&](std::size_t i, std::size_t j) {
    const float z = result.z(i, j);
    if (!std::isnan(z)) order.push_back({z, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j)});
  });
  std::ranges::sort(order, std::ranges::greater(), &Pair::z);
  double smallest = 1;
  for (std::size_t rank = order.size(); rank > 0; --rank) {
    const auto [z, i, j] = order[rank - 1];
    const double p = upper_tail(static_cast<double>(z));
    smallest = std::min(smallest, p * static_cast<double>(order.size()) / static_cast<double>(rank));
    result.q(i, j) = static_cast<float>(smallest);
  }
}

}  // namespace

std::string_view to_string(NullModel null) noexcept {
  return kNames[static_cast<std::size_t>(null)];
}

std::optional<NullModel> parse_null_model(std::string_view name) noexcept {
  const auto* found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<NullModel>(found - kNames.begin());
}

bool is_defined(NullModel null, Metric metric) noexcept {
  if (null == NullModel::kIsotropic) return !info(metric).angles();
  if (null == NullModel::kMatched) return info(metric).subspaces();
  return true;
}

NullMoments isotropic_moments(const GramMoments& f, const GramMoments& g, std::size_t d) noexcept {
  const auto n = static_cast<double>(d);
  const double spread_f = std::max(0.0, f.trace_of_square - f.trace * f.trace / n);
  const double spread_g = std::max(0.0, g.trace_of_square - g.trace * g.trace / n);
  const double variance = d < 2 ? 0 : 2 * spread_f * spread_g / ((n - 1) * (n + 2));
  return {f.trace * g.trace / n, std::sqrt(variance)};
}

double upper_tail(double z) noexcept {
  return 0.5 * std::erfc(z / std::sqrt(2.0));
}

Significance significance(const Affinities& affinities, NullModel null, std::size_t d_model,
                          const NullMoments& matched) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  const MetricInfo& metric = info(affinities.metric);
  Significance result{null, Matrix(affinities.values.rows(), affinities.values.columns()),
                      Matrix(affinities.values.rows(), affinities.values.columns())};
  std::ranges::fill(result.z.values(), kNone);
  std::ranges::fill(result.q.values(), kNone);
  const MomentsOf moments = moments_of(affinities, null, d_model, matched);
  for_each_later(affinities, [&](std::size_t i, std::size_t j) {
    const NullMoments here = moments(i, j);
    const double difference = on_null_scale(metric, affinities.values(i, j)) - here.mean;
    const double z = here.deviation > 0 ? difference / here.deviation : 0;
    result.z(i, j) = static_cast<float>(metric.distance ? -z : z);
  });
  fill_q(affinities, result);
  return result;
}

}  // namespace headscope
