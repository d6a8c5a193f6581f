#pragma once

#include <span>
#include <vector>

#include "headscope/base/context.h"
#include "headscope/relate/affinity.h"
#include "headscope/relate/judgment.h"
#include "headscope/relate/null_model.h"

namespace headscope {

/// The projection kernel between heads, and what the null models say about every earlier-to-later pair. `relate` keeps
/// this only for the edges that it selects.
struct Wiring {
  std::vector<Affinities> affinities;  ///< By role pair; NaN for pairs that are not earlier-to-later.
  std::vector<MatchedLaw> matched;     ///< By role pair.
  std::vector<Judgment> judgments;     ///< By role pair; z is under the matched null. They refer to the other members.
};

/// Computes the wiring with all null models, exactly as `relate` would. Not collective.
///
/// \throws Error  as `relate`.
[[nodiscard]] Wiring judge_wiring(const Model& model, std::span<const RolePair> pairs, WeightProcessing weights,
                                  const MatchedOptions& matched, const Context& context = {});

/// Returns the memory that it needs, including the result.
[[nodiscard]] std::size_t wiring_memory(const Model& model, std::span<const RolePair> pairs);

}  // namespace headscope
