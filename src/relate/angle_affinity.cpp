#include "relate/angle_affinity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "headscope/base/parallel.h"
#include "headscope/linalg/orthonormal_basis.h"
#include "headscope/linalg/principal_angles.h"
#include "headscope/relate/rank_tolerance.h"
#include "relate/head_selection.h"

namespace headscope {
namespace {

// Bases of one layer's heads, in double.
struct LayerBases {
  std::size_t size = 0;  // numbers a head
  std::vector<double> values;
  std::vector<std::size_t> ranks;

  [[nodiscard]] std::span<const double> basis(std::size_t head) const {
    return std::span(values).subspan(head * size, size);
  }
};

LayerBases load_bases(const Model& model, std::size_t layer, Role role, WeightProcessing weights,
                      const std::vector<std::size_t>& heads) {
  const HeadSizes& sizes = model.info().sizes;
  const HeadWeights loaded = model.load_heads(layer, role, weights);
  model.release_layer(layer);
  const double tolerance = rank_tolerance(model.stored_type(layer, role), sizes.d_model, sizes.d_head);
  LayerBases bases;
  bases.size = sizes.d_model * sizes.d_head;
  bases.values.resize(heads.size() * bases.size);
  bases.ranks.resize(heads.size());
  parallel_for(heads.size(), [&](std::size_t i) {
    bases.ranks[i] =
        orthonormal_basis(loaded.values().subspan(heads[i] * bases.size, bases.size), sizes.d_model, sizes.d_head,
                          tolerance, std::span(bases.values).subspan(i * bases.size, bases.size));
  });
  return bases;
}

double similarity_of_cosines(Metric metric, const std::vector<double>& cosines, std::size_t p, std::size_t q) {
  double sum = 0;
  switch (metric) {
    case Metric::kMaxCos:
      return cosines.empty() ? 0 : cosines.front();
    case Metric::kBinetCauchy:
      if (cosines.empty()) return -std::numeric_limits<double>::infinity();
      for (const double cosine : cosines) sum += 2 * std::log(cosine);
      return sum;
    case Metric::kProcrustes:
      if (cosines.empty()) return 0;
      for (const double cosine : cosines) sum += cosine;
      return sum / std::sqrt(static_cast<double>(p) * static_cast<double>(q));
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

double distance_of_angles(Metric metric, const std::vector<double>& angles, std::size_t p, std::size_t q) {
  const double difference = static_cast<double>(p > q ? p - q : q - p);
  double sum = 0;
  switch (metric) {
    case Metric::kChordal:
      // (p + q)/2 - sum cos^2 = |p - q|/2 + sum sin^2, which keeps its digits for nearly equal spaces.
      for (const double angle : angles) sum += std::sin(angle) * std::sin(angle);
      return std::sqrt(difference / 2 + sum);
    case Metric::kGrassmann:
      for (const double angle : angles) sum += angle * angle;
      return std::sqrt(sum + difference * std::pow(std::numbers::pi / 2, 2));
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

}  // namespace

double angle_metric(Metric metric, std::span<const double> u, std::size_t p, std::span<const double> v, std::size_t q,
                    std::size_t d) {
  const bool distance = info(metric).distance;
  return distance ? distance_of_angles(metric, principal_angles(u, p, v, q, d).angles, p, q)
                  : similarity_of_cosines(metric, principal_cosines(u, p, v, q, d), p, q);
}

void compute_angle_affinities(const Model& model, const AffinityOptions& options, Affinities& result) {
  const HeadSizes& sizes = model.info().sizes;
  const HeadSelection selection(sizes, options.layers, options.heads, options.named_heads);
  const LayerHeads& sources = selection.heads(is_key_value(result.pair.source));
  const LayerHeads& targets = selection.heads(is_key_value(result.pair.target));
  const auto describe = [&](Role role, const LayerHeads& heads, AffinitySide& side) {
    const bool key_value = is_key_value(role) && sizes.kv_heads != sizes.heads;
    for (std::size_t i = 0; i < selection.layers().size(); ++i) {
      for (const std::size_t head : heads.of(i)) side.heads.push_back({selection.layers()[i], head, key_value});
    }
    side.ranks.resize(side.heads.size());
  };
  describe(result.pair.source, sources, result.source);
  describe(result.pair.target, targets, result.target);
  result.values = Matrix(result.source.heads.size(), result.target.heads.size());
  std::ranges::fill(result.values.values(), std::numeric_limits<float>::quiet_NaN());

  const std::size_t layers = selection.layers().size();
  for (std::size_t s = 0; s < layers; ++s) {
    const LayerBases source =
        load_bases(model, selection.layers()[s], result.pair.source, options.weights, sources.of(s));
    std::ranges::copy(source.ranks, result.source.ranks.begin() + static_cast<std::ptrdiff_t>(sources.before(s)));
    for (std::size_t t = 0; t < layers; ++t) {
      const bool asked_for = !options.earlier_only || s < t;
      if (!asked_for && s > 0) continue;  // the first source still tells the targets' ranks
      const LayerBases target =
          load_bases(model, selection.layers()[t], result.pair.target, options.weights, targets.of(t));
      std::ranges::copy(target.ranks, result.target.ranks.begin() + static_cast<std::ptrdiff_t>(targets.before(t)));
      if (!asked_for) continue;
      const std::size_t n = target.ranks.size();
      parallel_for(source.ranks.size() * n, [&](std::size_t index) {
        const std::size_t i = index / n;
        const std::size_t j = index % n;
        result.values(sources.before(s) + i, targets.before(t) + j) = static_cast<float>(angle_metric(
            result.metric, source.basis(i), source.ranks[i], target.basis(j), target.ranks[j], sizes.d_model));
      });
      if (options.progress) {
        options.progress(static_cast<double>(s * layers + t + 1) / static_cast<double>(layers * layers));
      }
    }
  }
}

}  // namespace headscope
