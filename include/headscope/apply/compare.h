#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/apply/map_signature.h"
#include "headscope/base/matrix.h"

namespace headscope {

/// One feature of one network, with a sample for every input it was measured on.
struct FeatureSamples {
  std::string name;
  std::vector<double> x = {};                     ///< As in SignatureFeature.
  std::vector<std::vector<double>> samples = {};  ///< [input, component]; a single sample if inputs do not matter.
};

/// One network and its features.
struct ComparedRun {
  std::string name;
  std::vector<std::string> inputs;  ///< Identify the inputs; empty strings if unknown.
  std::vector<FeatureSamples> features;
};

/// Combines the signatures of a network's inputs, one sample per input.
/// \throws Error  kInvalidArgument if the signatures do not all have the same features.
[[nodiscard]] std::vector<FeatureSamples> collect_features(std::span<const std::vector<SignatureFeature>> signatures);

enum class DifferenceVerdict {
  kNone,  ///< Does not exceed the spread over inputs, or not significant.
  kDiffers,
  kUntested,  ///< Too few inputs: no result could be significant.
};
[[nodiscard]] std::string_view to_string(DifferenceVerdict verdict) noexcept;

/// How one feature differs between two networks. For a curve, all numbers are root mean squares over its components.
struct FeatureDifference {
  std::size_t a = 0;  ///< Index of the first run.
  std::size_t b = 0;
  std::string feature;
  double difference = 0;  ///< Between the means over inputs; b minus a for a single number.
  double spread = 0;      ///< Standard deviation over inputs (of the differences, if paired); NaN for single samples.
  double p = 1;           ///< From a permutation test of this feature alone; NaN for single samples.
  double p_family = 1;    ///< Corrected for the number of features and of pairs of runs; NaN for single samples.
  bool paired = false;    ///< Both networks saw the same inputs, so samples were compared input by input.
  DifferenceVerdict verdict = DifferenceVerdict::kUntested;
};

struct Comparison {
  std::vector<FeatureDifference> differences;  ///< Grouped by pair of runs; features in the order of the first run.
  /// [run, run]: root mean square of difference / deviation over the features that both runs have, where deviation is
  /// the standard deviation of all samples of all runs around their common mean. The diagonal is 0.
  DoubleMatrix distances;
  std::size_t pairs = 0;  ///< Pairs of runs that p_family is corrected for: all of them.
};

/// Tests which differences between networks exceed the spread over their inputs.
///
/// A feature differs if the difference of its means exceeds the spread over inputs and is significant: p_family below
/// 0.05. p is that of a permutation test: if the networks do not differ, inputs can be exchanged between them. It holds
/// for any distribution and any number of inputs, and for curves with correlated components. A t test does not: for 2
/// and 12 inputs of one Gaussian distribution and 17 features, Welch's test with Holm's correction finds a difference
/// in 32 % of comparisons. p_family compares with the largest statistic over all features (step-down maxT, Westfall and
/// Young 1993), times the number of pairs of runs. So among all features of all pairs, any false claim has a
/// probability of at most 5 %.
///
/// With few inputs no p can be below 0.05, and the verdict is kUntested: two runs need 4 inputs each (3 and 4 suffice),
/// or 6 if both saw the same ones; see `inputs_needed`. Samples containing a NaN are ignored.
///
/// \throws Error  kInvalidArgument if there are fewer than two runs, or if a feature has curves of different lengths.
[[nodiscard]] Comparison compare(std::span<const ComparedRun> runs);

/// Returns how many inputs two runs need each for a verdict, if `pairs` pairs of runs are compared.
[[nodiscard]] std::size_t inputs_needed(std::size_t pairs, bool paired);

}  // namespace headscope
