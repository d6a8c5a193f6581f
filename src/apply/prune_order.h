#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "apply/prune_plan.h"
#include "headscope/apply/head_structure.h"
#include "headscope/apply/prune.h"

namespace headscope {

/// Orders heads by ascending score, ties by HeadId. `scores` is indexed by layer * heads + head.
[[nodiscard]] HeadRanking order_by_score(PruneCriterion criterion, const PrunePlan& plan,
                                         std::span<const double> scores, std::size_t heads);

/// Orders heads randomly.
[[nodiscard]] HeadRanking order_at_random(const PrunePlan& plan, std::uint64_t seed);

/// Repeatedly removes the head closest to another remaining head: by tree distance, then by distance between maps, then
/// by the sum of distances to all remaining heads, which can stand in for it. For n heads O(n^2) typically, O(n^3) in
/// the worst case.
[[nodiscard]] HeadRanking order_by_redundancy(const PrunePlan& plan, const HeadStructure& structure, std::size_t heads);

/// Repeatedly removes the head that costs least, among the `candidates` (0: all) that cost least when last measured.
/// `measure` returns the damage of removing the given heads; `alone` is what each of `plan.removable` costs alone.
[[nodiscard]] HeadRanking order_greedily(const PrunePlan& plan, std::span<const double> alone, std::size_t candidates,
                                         const std::function<double(std::span<const HeadId>)>& measure);

}  // namespace headscope
