#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "apply/prune_plan.h"
#include "headscope/apply/head_structure.h"
#include "headscope/apply/prune.h"

namespace headscope {

/// Smallest score first, equal ones by HeadId. `scores` are by layer * heads + head.
[[nodiscard]] HeadRanking order_by_score(PruneCriterion criterion, const PrunePlan& plan,
                                         std::span<const double> scores, std::size_t heads);

/// Any order.
[[nodiscard]] HeadRanking order_at_random(const PrunePlan& plan, std::uint64_t seed);

/// Again and again the head that is nearest to another one that is still there, by the distance in the tree, then by
/// that between maps, then the head that is nearer to all the others: the others speak for it.
/// O(n^2) for n heads as a rule, O(n^3) at most.
[[nodiscard]] HeadRanking order_by_redundancy(const PrunePlan& plan, const HeadStructure& structure, std::size_t heads);

/// Again and again the head that costs least, of the `candidates` (0: all) that cost least when last measured.
/// `measure` gives the damage of removing these heads; `alone` what each of `plan.removable` costs alone.
[[nodiscard]] HeadRanking order_greedily(const PrunePlan& plan, std::span<const double> alone, std::size_t candidates,
                                         const std::function<double(std::span<const HeadId>)>& measure);

}  // namespace headscope
