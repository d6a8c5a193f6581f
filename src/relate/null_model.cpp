#include "headscope/relate/null_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "headscope/base/median.h"
#include "headscope/base/parallel.h"
#include "headscope/base/tails.h"
#include "headscope/model/processing_steps.h"
#include "headscope/relate/null_judge.h"
#include "relate/benjamini_hochberg.h"
#include "relate/later_pairs.h"

namespace headscope {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"isotropic", "matched", "span"};

using Judge = std::function<Judged(std::size_t, std::size_t)>;

// The affinity on the scale of the laws.
double on_null_scale(const MetricInfo& metric, float value) {
  const double wide = static_cast<double>(value);
  return metric.root ? wide * wide : wide;
}

// The inverse for the moments of a law.
PairNull on_scale_of_metric(const Judged& judged, const MetricInfo& metric) {
  if (judged.law == NullLaw::kNone) return {};
  const NullMoments& moments = judged.moments;
  if (!metric.root) return {judged.law, moments.mean, moments.deviation};
  const double mean = std::sqrt(std::max(0.0, moments.mean));
  return {judged.law, mean, mean > 0 ? moments.deviation / (2 * mean) : std::numeric_limits<double>::quiet_NaN()};
}

double standardize(double value, const NullMoments& moments) {
  return moments.deviation > 0 ? (value - moments.mean) / moments.deviation : 0;
}

Judge judge_isotropic(const Affinities& affinities, std::size_t n) {
  const MetricInfo& metric = info(affinities.metric);
  return [&affinities, &metric, n](std::size_t i, std::size_t j) -> Judged {
    const NullMoments moments = isotropic_moments(affinities.source.moments[i], affinities.target.moments[j], n);
    const double value = on_null_scale(metric, affinities.values(i, j));
    if (metric.factor == FactorKind::kBasis) {
      return judge_pk(value, affinities.source.ranks[i], affinities.target.ranks[j], n, moments);
    }
    const double z = standardize(value, moments);
    if (!(moments.deviation > 0)) return {z, 0};
    // A law with negative skewness ends at a finite value, beyond which p would be 0.
    return {z, log_pearson3_upper_tail(z, std::max(0.0, moments.skewness)), NullLaw::kPearson3, moments};
  };
}

// The matched moments of pk for the ranks of two heads.
NullMoments scaled_to(std::size_t p, std::size_t q, std::size_t n, const MatchedLaw& law) {
  const auto deviation = [n](std::size_t a, std::size_t b) {
    return isotropic_moments(projector_moments(a), projector_moments(b), n).deviation;
  };
  const double ranks = law.source.mean_rank * law.target.mean_rank;
  NullMoments moments = law.moments;
  if (ranks > 0) moments.mean *= static_cast<double>(p) * static_cast<double>(q) / ranks;
  if (p != law.source.full_rank || q != law.target.full_rank) {
    const double full = deviation(law.source.full_rank, law.target.full_rank);
    moments.deviation *= full > 0 ? deviation(p, q) / full : 0;
  }
  return moments;
}

// Natural logarithm of p of a standardized value: (1 + count) / (1 + draws) in the bulk; beyond its last 5 % the tail
// of the fitted law of type III, scaled to be continuous.
double log_sample_tail(double z, const MatchedLaw& law, double skewness) {
  const std::vector<float>& sample = law.sample;
  const auto draws = static_cast<double>(sample.size());
  const std::size_t tail = std::min(sample.size(), std::max<std::size_t>(10, sample.size() / 20));
  const auto above = static_cast<std::size_t>(
      sample.end() - std::ranges::lower_bound(sample, z, {}, [](float value) { return static_cast<double>(value); }));
  if (above >= tail) return std::log((1 + static_cast<double>(above)) / (1 + draws));
  const double edge = static_cast<double>(sample[sample.size() - tail]);
  const double fitted = log_pearson3_upper_tail(z, skewness) - log_pearson3_upper_tail(edge, skewness);
  return std::log((1 + static_cast<double>(tail)) / (1 + draws)) + std::min(0.0, fitted);
}

Judge judge_matched(const Affinities& affinities, std::size_t n, const MatchedLaw& laws) {
  const MetricInfo& metric = info(affinities.metric);
  return [&affinities, &metric, &laws, n](std::size_t i, std::size_t j) -> Judged {
    const Stream stream = stream_of(affinities.source.heads[i].block, affinities.pair.source);
    const MatchedLaw& law = stream == Stream::kEncoder && laws.of_encoder ? *laws.of_encoder : laws;
    const std::size_t p = affinities.source.ranks[i];
    const std::size_t q = affinities.target.ranks[j];
    const double value = on_null_scale(metric, affinities.values(i, j));
    if (metric.factor == FactorKind::kBasis) return judge_pk(value, p, q, n, scaled_to(p, q, n, law));
    if (p != law.source.full_rank || q != law.target.full_rank || law.sample.empty()) return {};
    const double z = standardize(value, law.moments) * (metric.distance ? -1 : 1);
    const double skewness = law.moments.skewness * (metric.distance ? -1 : 1);
    return {z, law.moments.deviation > 0 ? log_sample_tail(z, law, std::max(0.0, skewness)) : 0, NullLaw::kSample,
            law.moments};
  };
}

Judge judge_span(const Affinities& affinities) {
  const MetricInfo& metric = info(affinities.metric);
  const SpanClasses spans(affinities);
  const auto distance = [&affinities, spans](std::size_t i, std::size_t j) {
    return spans.of(affinities.source.heads[i], affinities.target.heads[j]);
  };
  const std::size_t layers = spans.count();
  std::vector<std::size_t> sizes(layers);
  for_each_later(affinities, [&](std::size_t i, std::size_t j) { ++sizes[distance(i, j)]; });
  std::vector<std::vector<double>> classes(layers);
  for (std::size_t k = 0; k < layers; ++k) classes[k].reserve(sizes[k]);
  for_each_later(affinities, [&](std::size_t i, std::size_t j) {
    classes[distance(i, j)].push_back(on_null_scale(metric, affinities.values(i, j)));
  });
  std::vector<NullMoments> moments(classes.size());
  for (std::size_t k = 0; k < layers; ++k) {
    std::vector<double>& values = classes[k];
    if (values.empty()) continue;
    moments[k].mean = median(values);
    for (double& value : values) value = std::abs(value - moments[k].mean);
    moments[k].deviation = 1.4826 * median(std::move(values));
  }
  return [&affinities, &metric, moments = std::move(moments), distance](std::size_t i, std::size_t j) -> Judged {
    const double value = on_null_scale(metric, affinities.values(i, j));
    const NullMoments& own = moments[distance(i, j)];
    const double z = standardize(value, own) * (metric.distance ? -1 : 1);
    return {z, log_normal_upper_tail(z), NullLaw::kNormal, own};
  };
}

Judge judge_of(const Affinities& affinities, NullModel null, std::size_t dimension, const MatchedLaw& matched) {
  switch (null) {
    case NullModel::kIsotropic:
      return judge_isotropic(affinities, dimension);
    case NullModel::kMatched:
      return judge_matched(affinities, dimension, matched);
    case NullModel::kSpan:
      return judge_span(affinities);
  }
  return {};
}

void fill_q(const Affinities& affinities, Significance& result) {
  std::vector<float> p;
  for_each_later(affinities, [&](std::size_t i, std::size_t j) {
    if (!std::isnan(result.log10_p(i, j))) p.push_back(result.log10_p(i, j));
  });
  const std::vector<float> q = log10_q_values(std::move(p));
  std::size_t next = 0;
  for_each_later(affinities, [&](std::size_t i, std::size_t j) {
    if (!std::isnan(result.log10_p(i, j))) result.log10_q(i, j) = q[next++];
  });
}

}  // namespace

std::string_view to_string(NullModel null) noexcept {
  return kNames[static_cast<std::size_t>(null)];
}

std::string_view to_string(NullLaw law) noexcept {
  constexpr std::array<std::string_view, 5> kLaws = {"", "beta", "pearson3", "sample", "normal"};
  return kLaws[static_cast<std::size_t>(law)];
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

std::size_t isotropic_dimension(const ModelInfo& model, WeightProcessing weights) noexcept {
  const bool centered = steps_of(weights, model).center && model.sizes.d_model > 1;
  return model.sizes.d_model - (centered ? 1 : 0);
}

NullMoments isotropic_moments(const GramMoments& f, const GramMoments& g, std::size_t dimension) noexcept {
  const auto n = static_cast<double>(dimension);
  const auto spread = [n](const GramMoments& m) { return std::max(0.0, m.trace_of_square - m.trace * m.trace / n); };
  const auto third = [n](const GramMoments& m) {
    const double mean = m.trace / n;
    return m.trace_of_cube - 3 * mean * m.trace_of_square + 2 * mean * mean * m.trace;
  };
  NullMoments moments{f.trace * g.trace / n};
  if (dimension < 2) return moments;
  moments.deviation = std::sqrt(2 * spread(f) * spread(g) / ((n - 1) * (n + 2)));
  if (dimension < 3 || !(moments.deviation > 0)) return moments;
  const double cumulant = 8 * n * third(f) * third(g) / ((n - 1) * (n - 2) * (n + 2) * (n + 4));
  moments.skewness = cumulant / std::pow(moments.deviation, 3);
  return moments;
}

double shown_p(double log10_p) noexcept {
  return std::max(kSmallestP, std::pow(10.0, log10_p));
}

Judged judge_pk(double value, std::size_t p, std::size_t q, std::size_t n, const NullMoments& moments) {
  const auto upper = static_cast<double>(std::min(p, q));
  const double lower = p + q > n ? static_cast<double>(p + q - n) : 0;
  if (!(moments.deviation > 0) || !(moments.mean > lower) || !(moments.mean < upper)) return {};
  // Values are floats: identical spaces are below the limit by rounding.
  const double inside = std::min(value, upper - 1e-6 * (upper - lower));
  return {standardize(value, moments),
          log_scaled_beta_upper_tail(inside - lower, upper - lower, moments.mean - lower, moments.deviation),
          NullLaw::kBeta, moments};
}

double upper_tail(double z) noexcept {
  return 0.5 * std::erfc(z / std::sqrt(2.0));
}

NullJudge null_judge(const Affinities& affinities, NullModel null, std::size_t dimension, const MatchedLaw& matched) {
  constexpr double kLn10 = 2.302585092994046;
  return
      [&affinities, judge = judge_of(affinities, null, dimension, matched)](std::size_t i, std::size_t j) -> PairScore {
        const bool empty = affinities.source.ranks[i] == 0 || affinities.target.ranks[j] == 0;
        const Judged found = judge(i, j);
        return {static_cast<float>(found.z), empty ? 0 : static_cast<float>(found.log_p / kLn10),
                on_scale_of_metric(found, info(affinities.metric))};
      };
}

Significance significance(const Affinities& affinities, NullModel null, std::size_t dimension,
                          const MatchedLaw& matched) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  const std::size_t rows = affinities.values.rows();
  const std::size_t columns = affinities.values.columns();
  Significance result{null, Matrix(rows, columns), Matrix(rows, columns), Matrix(rows, columns)};
  for (Matrix* one : {&result.z, &result.log10_p, &result.log10_q}) std::ranges::fill(one->values(), kNone);
  const NullJudge judge = null_judge(affinities, null, dimension, matched);
  parallel_for(rows, [&](std::size_t i) {
    for (std::size_t j = 0; j < columns; ++j) {
      if (!is_later(affinities, i, j)) continue;
      const PairScore found = judge(i, j);
      result.z(i, j) = found.z;
      result.log10_p(i, j) = found.log10_p;
    }
  });
  fill_q(affinities, result);
  return result;
}

}  // namespace headscope
