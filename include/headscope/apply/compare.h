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
  kUntested,  ///< Only one sample on each side, so there is no spread to compare with.
};
[[nodiscard]] std::string_view to_string(DifferenceVerdict verdict) noexcept;

/// How one feature differs between two networks. For a curve, all numbers are root mean squares over its components.
struct FeatureDifference {
  std::size_t a = 0;  ///< Index of the first run.
  std::size_t b = 0;
  std::string feature;
  double difference = 0;  ///< Between the means over inputs; b minus a for a single number.
  double spread = 0;      ///< Standard deviation over inputs (of the differences, if paired); NaN if untested.
  double p = 1;           ///< From Welch's t-test, or from the paired t-test; NaN if untested.
  double p_holm = 1;      ///< Corrected for the number of features tested on this pair of runs (Holm 1979).
  bool paired = false;    ///< Both networks saw the same inputs, so samples were compared input by input.
  DifferenceVerdict verdict = DifferenceVerdict::kUntested;
};

struct Comparison {
  std::vector<FeatureDifference> differences;  ///< Grouped by pair of runs; features in the order of the first run.
  /// [run, run]: root mean square of difference / deviation over the features that both runs have, where deviation is
  /// the standard deviation of all samples of all runs around their common mean. The diagonal is 0.
  DoubleMatrix distances;
};

/// Tests which differences between networks exceed the spread over their inputs.
///
/// A feature differs if the difference of its means exceeds the spread over inputs and is significant (p_holm below
/// 0.05). A curve is tested with t^2 = sum over components of squared differences / sum of squared standard errors and
/// the degrees of freedom of a single number, since its components are correlated. If the samples do not vary at all, p
/// is that of a permutation test. Samples containing a NaN are ignored.
///
/// \throws Error  kInvalidArgument if there are fewer than two runs, or if a feature has curves of different lengths.
[[nodiscard]] Comparison compare(std::span<const ComparedRun> runs);

/// Returns P(|T| > t) for Student's t-distribution with `degrees` (at least 1) degrees of freedom.
[[nodiscard]] double student_tail(double t, std::size_t degrees) noexcept;

}  // namespace headscope
