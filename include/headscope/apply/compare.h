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

/// One feature of one network, on every input that it was measured on.
struct FeatureSamples {
  std::string name;
  std::vector<double> x = {};                     ///< As in SignatureFeature.
  std::vector<std::vector<double>> samples = {};  ///< [input, component]; one sample for what inputs do not change.
};

/// One network.
struct ComparedRun {
  std::string name;
  std::vector<std::string> inputs;  ///< What tells them apart; empty strings where that is not known.
  std::vector<FeatureSamples> features;
};

/// Puts the signatures of a network's inputs together.
/// \throws Error  kInvalidArgument if they do not have the same features.
[[nodiscard]] std::vector<FeatureSamples> collect_features(std::span<const std::vector<SignatureFeature>> signatures);

enum class DifferenceVerdict {
  kNone,  ///< Not larger than the spread over inputs, or no more than chance.
  kDiffers,
  kUntested,  ///< One sample on either side: there is no spread to compare with.
};
[[nodiscard]] std::string_view to_string(DifferenceVerdict verdict) noexcept;

/// How one feature differs between two networks. Of a curve, all numbers are root mean squares over its components.
struct FeatureDifference {
  std::size_t a = 0;  ///< Index of a run.
  std::size_t b = 0;
  std::string feature;
  double difference = 0;  ///< Between the means over inputs; of single figures b's less a's.
  double spread = 0;      ///< Standard deviation over inputs (of the differences, where paired); NaN if untested.
  double p = 1;           ///< Of Welch's t test, or the paired one; NaN if untested.
  double p_holm = 1;      ///< Corrected for the number of features tested on this pair (Holm 1979).
  bool paired = false;    ///< Both networks saw the same inputs: each was compared with itself.
  DifferenceVerdict verdict = DifferenceVerdict::kUntested;
};

struct Comparison {
  std::vector<FeatureDifference> differences;  ///< Pair by pair, features in the order of the first run.
  /// [run, run]: root mean square over the features both have of difference / deviation, the deviation that of all
  /// samples of all runs around their common mean. 0 for a run and itself.
  DoubleMatrix distances;
};

/// Which differences between networks exceed the spread over their inputs.
///
/// A feature differs if the difference of its means exceeds the spread over inputs and is more than chance: p_holm
/// below 0.05. A curve is tested by t^2 = sum over components of squared differences / sum of squared standard
/// errors, with the degrees of freedom of one figure: its components move together, so no more are counted. Samples
/// that do not vary at all have the p of a permutation test. Samples with a NaN are left out.
///
/// \throws Error  kInvalidArgument if there are fewer than two runs, or a feature has curves of different lengths.
[[nodiscard]] Comparison compare(std::span<const ComparedRun> runs);

/// P(|T| > t) of Student's distribution with so many degrees of freedom (from 1 on).
[[nodiscard]] double student_tail(double t, std::size_t degrees) noexcept;

}  // namespace headscope
