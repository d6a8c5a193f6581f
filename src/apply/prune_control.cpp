#include "apply/prune_control.h"

#include <algorithm>
#include <map>

#include "headscope/base/median.h"
#include "headscope/base/random.h"

namespace headscope {
namespace {

constexpr std::size_t kEnough = 10;
constexpr std::size_t kMinOrders = 100;
constexpr std::size_t kOrdersPerCriterion = 20;        // one over the level of 0.05
constexpr std::uint64_t kStream = 0x6279206c61796572;  // differs from plain orders of the same seed

}  // namespace

std::size_t control_orders(const PruneOptions& options, std::size_t criteria) noexcept {
  return options.orders.value_or(std::max(kMinOrders, kOrdersPerCriterion * criteria));
}

std::vector<HeadId> heads_by_layer(const PrunePlan& plan, std::span<const HeadId> removed, PruneCriterion criterion,
                                   std::uint64_t seed) {
  std::map<std::size_t, std::vector<HeadId>> layers;
  for (const HeadId& id : plan.removable) layers[id.layer].push_back(id);
  std::map<std::size_t, std::size_t> counts;
  for (const HeadId& id : removed) ++counts[id.layer];
  std::vector<HeadId> chosen;
  for (const auto& [layer, count] : counts) {
    std::vector<HeadId>& heads = layers[layer];
    Random random(seed, {kStream, static_cast<std::uint64_t>(criterion), layer});
    for (std::size_t i = heads.size(); i > 1; --i) std::swap(heads[i - 1], heads[random.index(i)]);
    std::stable_partition(heads.begin(), heads.end(), [&](const HeadId& id) { return plan.zero.contains(id); });
    chosen.insert(chosen.end(), heads.begin(), heads.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return chosen;
}

void SequentialTest::add(double damage) {
  others_.push_back(damage);
  if (damage > damage_) return;
  if (++as_good_ == kEnough) settled_at_ = others_.size();
}

ControlTest SequentialTest::result(std::size_t criteria) const {
  ControlTest test;
  test.orders = others_.size();
  test.better_than = others_.size() - as_good_;
  std::vector<double> sorted = others_;
  std::ranges::sort(sorted);
  test.least = sorted.front();
  test.median = median(sorted);
  test.most = sorted.back();
  test.p = settled() ? static_cast<double>(kEnough) / static_cast<double>(settled_at_)
                     : static_cast<double>(1 + as_good_) / static_cast<double>(1 + others_.size());
  test.p_corrected = std::min(1.0, static_cast<double>(criteria) * test.p);
  return test;
}

}  // namespace headscope
