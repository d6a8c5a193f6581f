#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "apply/prune_plan.h"
#include "headscope/apply/prune.h"

namespace headscope {

/// Returns the maximum number of random orders of each kind for `criteria` criteria, not counting kRandom.
[[nodiscard]] std::size_t control_orders(const PruneOptions& options, std::size_t criteria) noexcept;

/// Returns removable heads chosen at random, as many of each layer as `removed` has. Heads that are zero already come
/// first, as in every ranking. Different criteria get different heads from the same seed.
[[nodiscard]] std::vector<HeadId> heads_by_layer(const PrunePlan& plan, std::span<const HeadId> removed,
                                                 PruneCriterion criterion, std::uint64_t seed);

/// Compares one damage with those of random orders, one after another.
class SequentialTest {
 public:
  explicit SequentialTest(double damage) noexcept : damage_(damage) {}

  void add(double damage);
  /// Whether p does not depend on further orders: enough of them do no more damage.
  [[nodiscard]] bool settled() const noexcept { return settled_at_ > 0; }
  /// The comparison with all orders added so far, corrected for the number of criteria. Needs at least one.
  [[nodiscard]] ControlTest result(std::size_t criteria) const;

 private:
  double damage_;
  std::vector<double> others_;
  std::size_t as_good_ = 0;     // orders that do no more damage
  std::size_t settled_at_ = 0;  // number of orders when there were enough of them
};

}  // namespace headscope
