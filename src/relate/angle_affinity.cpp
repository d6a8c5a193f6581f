#include "relate/angle_affinity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <string>

#include "headscope/base/parallel.h"
#include "headscope/linalg/orthonormal_basis.h"
#include "headscope/linalg/principal_angles.h"
#include "headscope/relate/rank_tolerance.h"
#include "headscope/relate/weight_variant.h"
#include "relate/head_selection.h"
#include "relate/pair_rows.h"

namespace headscope {
namespace {

// Bases of the heads of one layer, in double.
struct LayerBases {
  std::size_t size = 0;  // numbers per head
  std::vector<double> values;
  std::vector<std::size_t> ranks;

  [[nodiscard]] std::span<const double> basis(std::size_t head) const {
    return std::span(values).subspan(head * size, size);
  }
};

LayerBases load_bases(const Model& model, std::size_t layer, Role role, const AffinityOptions& options,
                      const std::vector<std::size_t>& heads) {
  const HeadSizes& sizes = model.info().sizes;
  HeadWeights loaded = model.load_heads(layer, role, options.variant ? WeightProcessing::kRaw : options.weights);
  if (options.variant) options.variant->apply(model, layer, loaded);
  model.release_layer(layer);
  const double tolerance = rank_tolerance(model.stored_type(layer, role), sizes.d_model, loaded.d_head());
  LayerBases bases;
  bases.size = sizes.d_model * loaded.d_head();
  bases.values.resize(heads.size() * bases.size);
  bases.ranks.resize(heads.size());
  parallel_for(heads.size(), [&](std::size_t i) {
    bases.ranks[i] = orthonormal_basis(
        loaded.values().subspan(heads[i] * bases.size, bases.size), sizes.d_model, loaded.d_head(), tolerance,
        std::span(bases.values).subspan(i * bases.size, bases.size), loaded.noise(heads[i]));
  });
  return bases;
}

template <typename Term>
double sum_of(const std::vector<double>& values, const Term& term) {
  double sum = 0;
  for (const double value : values) sum += term(value);
  return sum;
}

}  // namespace

double angle_metric(Metric metric, std::span<const double> u, std::size_t p, std::span<const double> v, std::size_t q,
                    std::size_t d) {
  const auto cosines = [&] { return principal_cosines(u, p, v, q, d); };
  const auto angles = [&] { return principal_angles(u, p, v, q, d).angles; };
  const bool none = p == 0 || q == 0;
  const double difference = static_cast<double>(p > q ? p - q : q - p);
  // No default case: a metric that is missing here is a compiler error.
  switch (metric) {
    case Metric::kMaxCos:
      return none ? 0 : cosines().front();
    case Metric::kBinetCauchy:
      if (none) return -std::numeric_limits<double>::infinity();
      return sum_of(cosines(), [](double cosine) { return 2 * std::log(cosine); });
    case Metric::kProcrustes:
      if (none) return 0;
      return sum_of(cosines(), [](double cosine) { return cosine; }) /
             std::sqrt(static_cast<double>(p) * static_cast<double>(q));
    case Metric::kChordal:
      // (p + q)/2 - sum cos^2 = |p - q|/2 + sum sin^2, which is accurate for nearly equal spaces.
      return std::sqrt(difference / 2 +
                       sum_of(angles(), [](double angle) { return std::sin(angle) * std::sin(angle); }));
    case Metric::kGrassmann:
      return std::sqrt(sum_of(angles(), [](double angle) { return angle * angle; }) +
                       difference * std::pow(std::numbers::pi / 2, 2));
    case Metric::kPk:
    case Metric::kCka:
    case Metric::kCs:
    case Metric::kRopeCs:
    case Metric::kSimpleCs:
    case Metric::kCoupling:
      break;
  }
  throw std::logic_error("not a function of principal angles: " + std::string(info(metric).name));
}

namespace {

// One role pair, by source layer.
class AngleAffinity {
 public:
  AngleAffinity(const Model& model, const AffinityOptions& options, const HeadSelection& selection, Ranks& ranks,
                FinishedBlocks* finished, Affinities& result)
      : model_(model),
        options_(options),
        selection_(selection),
        rows_(result, model.info().sizes, selection, ranks, finished),
        metric_(result.metric),
        pair_(result.pair) {}

  // Returns the number of layer pairs that this rank computes.
  [[nodiscard]] std::size_t plan() {
    const HeadSizes& sizes = model_.info().sizes;
    const std::size_t layers = rows_.layers();
    missing_.assign(layers * layers, false);
    std::size_t count = 0;
    for (std::size_t s = 0; s < layers; ++s) {
      for (std::size_t t = 0; rows_.is_own(s) && t < layers; ++t) {
        const BlockLayer source = sizes.place(selection_.layers()[s]);
        const BlockLayer target = sizes.place(selection_.layers()[t]);
        const bool none = rows_.heads(Side::kSource).of(s).empty() || rows_.heads(Side::kTarget).of(t).empty();
        const bool related = !none && stream_of(source.block, pair_.source) == stream_of(target.block, pair_.target);
        const bool asked_for =
            related && (!options_.earlier_only || precedes(source, pair_.source, target, pair_.target));
        missing_[s * layers + t] = asked_for && !rows_.restore(s, t);
        count += missing_[s * layers + t] ? 1 : 0;
      }
    }
    return count;
  }

  template <typename Report>
  void run(const Report& report) {
    const std::size_t layers = rows_.layers();
    for (std::size_t s = 0; s < layers; ++s) {
      const auto row = missing_.begin() + static_cast<std::ptrdiff_t>(s * layers);
      if (std::none_of(row, row + static_cast<std::ptrdiff_t>(layers), [](bool missing) { return missing; })) continue;
      const LayerBases source = load(Side::kSource, s);
      for (std::size_t t = 0; t < layers; ++t) {
        if (!missing_[s * layers + t]) continue;
        compute_block(source, s, t);
        report();
      }
    }
    for (std::size_t i = 0; i < layers; ++i) {
      for (const Side side : {Side::kSource, Side::kTarget}) {
        if (rows_.is_own(i) && !rows_.is_described(side, i)) static_cast<void>(load(side, i));
      }
    }
    rows_.gather();
  }

 private:
  [[nodiscard]] LayerBases load(Side side, std::size_t layer) {
    const Role role = side == Side::kSource ? pair_.source : pair_.target;
    LayerBases bases = load_bases(model_, selection_.layers()[layer], role, options_, rows_.heads(side).of(layer));
    if (rows_.is_own(layer)) rows_.describe(side, layer, {}, bases.ranks);
    return bases;
  }

  void compute_block(const LayerBases& source, std::size_t s, std::size_t t) {
    const LayerBases target = load(Side::kTarget, t);
    const MatrixSpan out = rows_.block(s, t);
    const std::size_t n = target.ranks.size();
    parallel_for(source.ranks.size() * n, [&](std::size_t index) {
      const std::size_t i = index / n;
      const std::size_t j = index % n;
      out.row(i)[j] = static_cast<float>(angle_metric(metric_, source.basis(i), source.ranks[i], target.basis(j),
                                                      target.ranks[j], model_.info().sizes.d_model));
    });
    rows_.keep(s, t);
  }

  const Model& model_;
  const AffinityOptions& options_;
  const HeadSelection& selection_;
  PairRows rows_;
  Metric metric_;
  RolePair pair_;
  std::vector<bool> missing_;  // [source][target]
};

}  // namespace

void compute_angle_affinities(const Model& model, const AffinityOptions& options, const Context& context,
                              FinishedBlocks* finished, std::span<Affinities> results) {
  const HeadSelection selection(model.info().sizes, options.layers, options.heads, options.named_heads);
  std::vector<AngleAffinity> work;
  work.reserve(results.size());
  std::size_t total = 1;  // so that the caller alone reports the end
  for (Affinities& result : results) {
    work.emplace_back(model, options, selection, context.ranks, finished, result);
    total += work.back().plan();
  }
  std::size_t done = 0;
  for (AngleAffinity& one : work) {
    one.run([&] { context.report(static_cast<double>(++done) / static_cast<double>(total)); });
  }
}

}  // namespace headscope
