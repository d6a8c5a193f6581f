#include "headscope/apply/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "apply/permutation_test.h"
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

// Standard deviation over the inputs of both runs; NaN if each has one.
double spread_of(const Samples& a, const Samples& b) {
  if (a.size() < 2 && b.size() < 2) return kUnknown;
  if (a.size() < 2) return std::sqrt(variance(b, mean(b), 1));
  if (b.size() < 2) return std::sqrt(variance(a, mean(a), 1));
  return std::sqrt((variance(a, mean(a), 1) + variance(b, mean(b), 1)) / 2);
}

// Differences of the pairs in which both samples are defined.
Samples pair_differences(const Samples& a, const Samples& b) {
  Samples differences;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!is_whole(a[i]) || !is_whole(b[i])) continue;
    differences.push_back(b[i]);
    for (std::size_t k = 0; k < a[i].size(); ++k) differences.back()[k] -= a[i][k];
  }
  return differences;
}

const FeatureSamples* find(const ComparedRun& run, const std::string& name) {
  const auto found = std::ranges::find(run.features, name, &FeatureSamples::name);
  return found == run.features.end() ? nullptr : &*found;
}

// Whether sample i belongs to the same input in both runs.
bool same_inputs(const ComparedRun& a, const ComparedRun& b) {
  return a.inputs == b.inputs && std::ranges::none_of(a.inputs, [](const std::string& input) { return input.empty(); });
}

void check_lengths(const ComparedRun& a, const FeatureSamples& first, const ComparedRun& b,
                   const FeatureSamples& second) {
  if (first.samples.empty() || second.samples.empty()) return;
  const std::size_t from = first.samples.front().size();
  const std::size_t to = second.samples.front().size();
  if (from == to) return;
  throw Error(ErrorKind::kInvalidArgument, fmt::format("compare: feature '{}' has {} components in {} but {} in {}",
                                                       first.name, from, a.name, to, b.name));
}

std::optional<FeatureDifference> difference_of(std::span<const ComparedRun> runs, std::size_t i, std::size_t j,
                                               const FeatureSamples& first, const FeatureSamples& second) {
  check_lengths(runs[i], first, runs[j], second);
  FeatureDifference result;
  result.a = i;
  result.b = j;
  result.feature = first.name;
  result.paired = first.samples.size() > 1 && first.samples.size() == second.samples.size() &&
                  first.samples.size() == runs[i].inputs.size() && same_inputs(runs[i], runs[j]);
  std::vector<double> gap;
  if (result.paired) {
    const Samples differences = pair_differences(first.samples, second.samples);
    if (differences.empty()) return std::nullopt;
    gap = mean(differences);
    result.spread = differences.size() < 2 ? kUnknown : std::sqrt(variance(differences, gap, 1));
  } else {
    const Samples a = whole_samples(first.samples);
    const Samples b = whole_samples(second.samples);
    if (a.empty() || b.empty()) return std::nullopt;
    gap = mean(b);
    const std::vector<double> from = mean(a);
    for (std::size_t k = 0; k < gap.size(); ++k) gap[k] -= from[k];
    result.spread = spread_of(a, b);
  }
  result.difference = gap.size() == 1 ? gap.front() : root_mean_square(gap);
  if (std::isnan(result.spread)) result.p = result.p_family = kUnknown;
  return result;
}

// Features of one pair of runs that were measured on the same inputs are one family.
struct Family {
  std::vector<FeatureDifference*> differences;
  std::vector<TwoSamples> samples;
};

void judge(Family& family, std::size_t pairs) {
  if (family.samples.empty()) return;
  const bool paired = family.differences.front()->paired;
  const PermutationPs ps = permutation_test(family.samples, paired, pairs);
  const double smallest =
      smallest_permutation_p(family.samples.front().a.size(), family.samples.front().b.size(), paired, pairs);
  const bool can_differ = smallest * static_cast<double>(pairs) < kLevel;
  for (std::size_t f = 0; f < family.differences.size(); ++f) {
    FeatureDifference& one = *family.differences[f];
    one.p = ps.alone[f];
    one.p_family = ps.family[f];
    if (!can_differ) continue;
    const bool differs = std::abs(one.difference) > one.spread && one.p_family < kLevel;
    one.verdict = differs ? DifferenceVerdict::kDiffers : DifferenceVerdict::kNone;
  }
}

// Appends the differences between runs i and j.
void compare_pair(std::span<const ComparedRun> runs, std::size_t i, std::size_t j, Comparison& result) {
  const std::size_t begin = result.differences.size();
  std::vector<TwoSamples> samples;
  for (const FeatureSamples& first : runs[i].features) {
    const FeatureSamples* second = find(runs[j], first.name);
    if (second == nullptr) continue;
    if (auto found = difference_of(runs, i, j, first, *second)) {
      result.differences.push_back(std::move(*found));
      samples.push_back({first.samples, second->samples});
    }
  }
  Family family;
  for (std::size_t f = 0; f < samples.size(); ++f) {
    FeatureDifference& one = result.differences[begin + f];
    const bool single = samples[f].a.size() < 2 && samples[f].b.size() < 2;
    if (single || std::isnan(one.spread)) continue;
    const bool same = family.samples.empty() || (family.samples.front().a.size() == samples[f].a.size() &&
                                                 family.samples.front().b.size() == samples[f].b.size());
    if (!same) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("compare: feature '{}' of {} and {} has another number of samples than the features "
                              "before it, expected one per input",
                              one.feature, runs[i].name, runs[j].name));
    }
    family.differences.push_back(&one);
    family.samples.push_back(samples[f]);
  }
  judge(family, result.pairs);
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
  result.pairs = runs.size() * (runs.size() - 1) / 2;
  result.distances = DoubleMatrix(runs.size(), runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::size_t j = i + 1; j < runs.size(); ++j) {
      const std::size_t begin = result.differences.size();
      compare_pair(runs, i, j, result);
      const std::span<const FeatureDifference> own = std::span(result.differences).subspan(begin);
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

std::size_t inputs_needed(std::size_t pairs, bool paired) {
  std::size_t n = 1;
  while (smallest_permutation_p(n, n, paired, pairs) * static_cast<double>(pairs) >= kLevel) ++n;
  return n;
}

}  // namespace headscope
