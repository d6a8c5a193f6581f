#include "headscope/apply/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "headscope/base/error.h"

namespace headscope {
namespace {

constexpr double kLevel = 0.05;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

using Samples = std::vector<std::vector<double>>;

bool is_whole(const std::vector<double>& sample) {
  return std::ranges::none_of(sample, [](double value) { return std::isnan(value); });
}

Samples whole_samples(const Samples& samples) {
  Samples kept;
  std::ranges::copy_if(samples, std::back_inserter(kept), is_whole);
  return kept;
}

std::vector<double> mean(const Samples& samples) {
  std::vector<double> sum(samples.front().size());
  for (const auto& sample : samples) {
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += sample[k];
  }
  for (double& value : sum) value /= static_cast<double>(samples.size());
  return sum;
}

// Mean over components of the variance over samples around `center`; estimating it used `lost` degrees of freedom.
double variance(const Samples& samples, const std::vector<double>& center, std::size_t lost) {
  double sum = 0;
  for (const auto& sample : samples) {
    for (std::size_t k = 0; k < center.size(); ++k) sum += (sample[k] - center[k]) * (sample[k] - center[k]);
  }
  return sum / static_cast<double>(center.size()) / static_cast<double>(samples.size() - lost);
}

double root_mean_square(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

// Squared standard error of a difference of means.
struct Error2 {
  double square = 0;
  double spread = 0;
  std::size_t degrees = 0;  // 0: unknown
};

Error2 unpaired(const Samples& a, const Samples& b) {
  const auto n = static_cast<double>(a.size());
  const auto m = static_cast<double>(b.size());
  if (a.size() < 2 && b.size() < 2) return {};
  if (a.size() < 2 || b.size() < 2) {
    // One side is a single sample: assume that it varies as much as the other.
    const Samples& many = a.size() < 2 ? b : a;
    const double s2 = variance(many, mean(many), 1);
    return {s2 * (1 / n + 1 / m), std::sqrt(s2), many.size() - 1};
  }
  const double va = variance(a, mean(a), 1);
  const double vb = variance(b, mean(b), 1);
  const double square = va / n + vb / m;
  // Welch's degrees of freedom, rounded down.
  const double below = va * va / (n * n * (n - 1)) + vb * vb / (m * m * (m - 1));
  const double degrees = below > 0 ? square * square / below : n + m - 2;
  return {square, std::sqrt((va + vb) / 2), static_cast<std::size_t>(std::max(1.0, degrees))};
}

Error2 paired(const Samples& a, const Samples& b) {
  Samples differences = b;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t k = 0; k < a[i].size(); ++k) differences[i][k] -= a[i][k];
  }
  const double s2 = variance(differences, mean(differences), 1);
  return {s2 / static_cast<double>(a.size()), std::sqrt(s2), a.size() - 1};
}

// p for samples that do not vary at all: depths of small trees take few values, and two equal ones say little. This is
// the p of a permutation test if all samples of one side exceed all of the other; for pairs, of the sign test.
double permutation_p(std::size_t n, std::size_t m, bool pairs) {
  if (pairs) return std::pow(2.0, 1 - static_cast<double>(n));
  double ways = 1;
  for (std::size_t k = 1; k <= n; ++k) ways *= static_cast<double>(m + k) / static_cast<double>(k);
  return std::min(1.0, (n == m ? 2 : 1) / ways);
}

const FeatureSamples* find(const ComparedRun& run, const std::string& name) {
  const auto found = std::ranges::find(run.features, name, &FeatureSamples::name);
  return found == run.features.end() ? nullptr : &*found;
}

// Whether sample i belongs to the same input in both runs.
bool same_inputs(const ComparedRun& a, const ComparedRun& b) {
  return a.inputs == b.inputs && std::ranges::none_of(a.inputs, [](const std::string& input) { return input.empty(); });
}

std::optional<FeatureDifference> difference_of(std::span<const ComparedRun> runs, std::size_t i, std::size_t j,
                                               const FeatureSamples& first) {
  const FeatureSamples* second = find(runs[j], first.name);
  if (second == nullptr) return std::nullopt;
  const Samples a = whole_samples(first.samples);
  const Samples b = whole_samples(second->samples);
  if (a.empty() || b.empty()) return std::nullopt;
  FeatureDifference result;
  result.a = i;
  result.b = j;
  result.feature = first.name;
  std::vector<double> gap = mean(b);
  const std::vector<double> from = mean(a);
  if (gap.size() != from.size()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("compare: feature '{}' has {} components in {} but {} in {}", first.name, from.size(),
                            runs[i].name, gap.size(), runs[j].name));
  }
  for (std::size_t k = 0; k < gap.size(); ++k) gap[k] -= from[k];
  result.difference = gap.size() == 1 ? gap.front() : root_mean_square(gap);
  const bool complete = a.size() == first.samples.size() && b.size() == second->samples.size();
  result.paired = complete && a.size() > 1 && a.size() == b.size() && a.size() == runs[i].inputs.size() &&
                  same_inputs(runs[i], runs[j]);
  const Error2 error = result.paired ? paired(a, b) : unpaired(a, b);
  if (error.degrees == 0) {
    result.spread = result.p = result.p_holm = kUnknown;
    return result;
  }
  result.spread = error.spread;
  const double size = std::abs(result.difference);
  if (error.square > 0) {
    result.p = student_tail(size / std::sqrt(error.square), error.degrees);
  } else {
    result.p = size > 0 ? permutation_p(a.size(), b.size(), result.paired) : 1;
  }
  result.verdict = DifferenceVerdict::kNone;
  return result;
}

// Applies Holm's step-down correction over the tested features of one pair of runs, and sets the verdicts.
void judge(std::span<FeatureDifference> differences) {
  std::vector<FeatureDifference*> tested;
  for (FeatureDifference& one : differences) {
    if (one.verdict != DifferenceVerdict::kUntested) tested.push_back(&one);
  }
  std::ranges::stable_sort(tested, {}, &FeatureDifference::p);
  double largest = 0;
  for (std::size_t k = 0; k < tested.size(); ++k) {
    largest = std::max(largest, std::min(1.0, static_cast<double>(tested.size() - k) * tested[k]->p));
    tested[k]->p_holm = largest;
    const bool beyond = std::abs(tested[k]->difference) > tested[k]->spread;
    if (beyond && largest < kLevel) tested[k]->verdict = DifferenceVerdict::kDiffers;
  }
}

// Standard deviation of all samples of all runs around their common mean; 0 if there are none.
double common_deviation(std::span<const ComparedRun> runs, const std::string& name) {
  Samples all;
  for (const ComparedRun& run : runs) {
    const FeatureSamples* feature = find(run, name);
    if (feature == nullptr) continue;
    for (const auto& sample : whole_samples(feature->samples)) all.push_back(sample);
  }
  return all.empty() ? 0 : std::sqrt(variance(all, mean(all), 0));
}

}  // namespace

std::vector<FeatureSamples> collect_features(std::span<const std::vector<SignatureFeature>> signatures) {
  std::vector<FeatureSamples> features;
  if (signatures.empty()) return features;
  for (const SignatureFeature& feature : signatures.front()) features.push_back({feature.name, feature.x, {}});
  for (const auto& signature : signatures) {
    const bool same = std::ranges::equal(signature, features, {}, &SignatureFeature::name, &FeatureSamples::name);
    if (!same)
      throw Error(ErrorKind::kInvalidArgument,
                  "compare: the inputs of one network have different features, expected the same for all");
    for (std::size_t f = 0; f < features.size(); ++f) features[f].samples.push_back(signature[f].values);
  }
  return features;
}

std::string_view to_string(DifferenceVerdict verdict) noexcept {
  switch (verdict) {
    case DifferenceVerdict::kNone:
      return "none";
    case DifferenceVerdict::kDiffers:
      return "differs";
    case DifferenceVerdict::kUntested:
      return "untested";
  }
  return "";
}

Comparison compare(std::span<const ComparedRun> runs) {
  if (runs.size() < 2) throw Error(ErrorKind::kInvalidArgument, "compare: expected at least two runs");
  Comparison result;
  result.distances = DoubleMatrix(runs.size(), runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::size_t j = i + 1; j < runs.size(); ++j) {
      const std::size_t begin = result.differences.size();
      for (const FeatureSamples& feature : runs[i].features) {
        if (auto found = difference_of(runs, i, j, feature)) result.differences.push_back(std::move(*found));
      }
      const std::span<FeatureDifference> own = std::span(result.differences).subspan(begin);
      judge(own);
      double sum = 0;
      for (const FeatureDifference& one : own) {
        const double deviation = common_deviation(runs, one.feature);
        if (deviation > 0) sum += one.difference * one.difference / (deviation * deviation);
      }
      const double distance = own.empty() ? 0 : std::sqrt(sum / static_cast<double>(own.size()));
      result.distances(i, j) = result.distances(j, i) = distance;
    }
  }
  return result;
}

double student_tail(double t, std::size_t degrees) noexcept {
  // For integer degrees of freedom, the distribution function is a finite sum (Abramowitz and Stegun 26.7.3, 26.7.4).
  const double theta = std::atan(t / std::sqrt(static_cast<double>(degrees)));
  const double cosine = std::cos(theta);
  double term = degrees % 2 == 0 ? 1 : cosine;
  double sum = degrees == 1 ? 0 : term;
  for (std::size_t k = degrees % 2 == 0 ? 2 : 3; k < degrees; k += 2) {
    term *= cosine * cosine * static_cast<double>(k - 1) / static_cast<double>(k);
    sum += term;
  }
  const double inside =
      degrees % 2 == 0 ? std::sin(theta) * sum : 2 / std::numbers::pi * (theta + std::sin(theta) * sum);
  return std::clamp(1 - inside, 0.0, 1.0);
}

}  // namespace headscope
