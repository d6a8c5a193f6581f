#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace headscope {

/// Samples of one feature in two runs, [input, component]. Samples with a NaN are ignored.
struct TwoSamples {
  std::span<const std::vector<double>> a;
  std::span<const std::vector<double>> b;
};

/// p-values of features, in their order.
struct PermutationPs {
  std::vector<double> alone;   ///< Of the feature alone.
  std::vector<double> family;  ///< Corrected for the number of features and for `comparisons`.
};

/// Tests whether features differ between two runs, by exchanging inputs between them.
///
/// If the runs do not differ, every assignment of the inputs to the two runs is equally likely (for pairs: every choice
/// of which run comes first). So p is the fraction of assignments whose statistic is at least the observed one. This is
/// exact for any distribution, any number of inputs and curves with correlated components. The statistic is the
/// fraction of a feature's sum of squares that lies between the runs (for pairs, in the mean difference), summed over
/// components; it is a monotone function of the pooled t statistic. All features share the assignments, and `family`
/// compares with the largest statistic over the features (step-down maxT, Westfall and Young 1993), times `comparisons`
/// (Bonferroni).
///
/// Uses all assignments if there are at most 20,000; otherwise random ones, seeded, at least 10,000, with p = (1 +
/// count) / (1 + draws). Cost: assignments * inputs * components.
///
/// All `a` must have the same length, all `b` as well; for pairs both.
[[nodiscard]] PermutationPs permutation_test(std::span<const TwoSamples> features, bool pairs,
                                             std::size_t comparisons = 1);

/// Returns the smallest p that the test can give for one comparison of `n` with `m` inputs, not corrected: 1 / number
/// of assignments, or 2 / number where reversing an assignment changes nothing.
[[nodiscard]] double smallest_permutation_p(std::size_t n, std::size_t m, bool pairs, std::size_t comparisons = 1);

}  // namespace headscope
