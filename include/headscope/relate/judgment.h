#pragma once

#include <span>
#include <string>
#include <vector>

#include "headscope/relate/later_values.h"
#include "headscope/relate/null_judge.h"
#include "headscope/relate/relate.h"

namespace headscope {

/// The level of q at which a pair of heads is beyond chance, and at which it stands out.
constexpr double kChanceLevel = 0.05;

/// Which nulls are used, and for what.
struct NullPlan {
  std::vector<NullModel> shown = {};  ///< Of which edges get z, p and q.
  std::vector<NullModel> used = {};   ///< `shown`, and those on which the flags rest.
  NullModel headline = NullModel::kSpan;

  [[nodiscard]] bool uses(NullModel null) const noexcept;
};

/// Isotropic and span are always used where they are defined: they cost little. Matched is used if it is shown, or if
/// isotropic is not defined.
///
/// \throws Error  kInvalidArgument if a requested null is not defined for the first metric.
[[nodiscard]] NullPlan plan_nulls(const RelateOptions& options);

/// What one null says about all pairs of heads of one role pair. z and p are computed again where they are asked for:
/// they are needed for few pairs, and matrices of them would take most of the memory of a run.
struct NullVerdict {
  NullModel null = NullModel::kIsotropic;
  NullJudge score = {};  ///< z and p of an earlier-to-later pair.
  LaterValues log10_q = {};
};

/// What the nulls say about all pairs of heads of one role pair. All values are of earlier-to-later pairs.
struct Judgment {
  std::vector<NullVerdict> nulls = {};  ///< In the order of NullPlan::used.
  /// Logarithm of q (Benjamini-Yekutieli) of the larger p of isotropic and matched, over all role pairs.
  LaterValues log10_q = {};
  LaterValues z = {};  ///< Under the headline null.
  const NullVerdict* span = nullptr;

  [[nodiscard]] bool beyond_chance(std::size_t i, std::size_t j) const noexcept;
  [[nodiscard]] bool stands_out(std::size_t i, std::size_t j) const noexcept;
};

/// Judges all role pairs of a call. `matched` is empty if that null is not used. `affinities` and `matched` must
/// outlive the result. Takes 4 bytes per earlier-to-later pair, times the number of nulls plus 2, and for the time of
/// the call as much as `relate_memory` (relate/memory_plan.h) says.
[[nodiscard]] std::vector<Judgment> judge(std::span<const Affinities> affinities, const NullPlan& plan,
                                          std::size_t dimension, std::span<const MatchedLaw> matched);

/// Counts pairs per role pair, then all together.
[[nodiscard]] std::vector<WiringCount> count_wiring(std::span<const Affinities> affinities,
                                                    std::span<const Judgment> judgments);

/// Warnings about what the flags rest on, and about classes of the span null that are too small to say anything.
[[nodiscard]] std::vector<std::string> judgment_warnings(std::span<const Affinities> affinities, const NullPlan& plan);

}  // namespace headscope
