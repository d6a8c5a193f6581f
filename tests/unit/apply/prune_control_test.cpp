#include "apply/prune_control.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "headscope/base/random.h"

namespace headscope {
namespace {

PrunePlan plan_of(std::size_t layers, std::size_t heads) {
  PrunePlan plan;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (std::size_t head = 0; head < heads; ++head) plan.removable.push_back({layer, head});
  }
  return plan;
}

TEST(ControlOrders, AreEnoughForACorrectedPBelowFivePercent) {
  for (std::size_t criteria = 1; criteria < 20; ++criteria) {
    const std::size_t orders = control_orders({}, criteria);
    EXPECT_GE(orders, 100U);
    EXPECT_LT(static_cast<double>(criteria) / static_cast<double>(1 + orders), 0.05) << criteria;
  }
  PruneOptions options;
  options.orders = 7;
  EXPECT_EQ(control_orders(options, 3), 7U);
}

TEST(HeadsByLayer, TakesAsManyOfEachLayerAndEveryHeadEquallyOften) {
  const PrunePlan plan = plan_of(4, 6);
  const std::vector<HeadId> removed = {{0, 0}, {0, 1}, {2, 5}, {3, 0}, {3, 1}, {3, 2}, {3, 3}, {3, 4}, {3, 5}};
  std::map<HeadId, int> times;
  constexpr int kOrders = 3000;
  for (std::uint64_t seed = 0; seed < kOrders; ++seed) {
    const std::vector<HeadId> heads = heads_by_layer(plan, removed, PruneCriterion::kPk, seed);
    std::map<std::size_t, std::set<HeadId>> layers;
    for (const HeadId& id : heads) {
      layers[id.layer].insert(id);
      ++times[id];
    }
    ASSERT_EQ(layers[0].size(), 2U);
    ASSERT_EQ(layers[1].size(), 0U);
    ASSERT_EQ(layers[2].size(), 1U);
    ASSERT_EQ(layers[3].size(), 6U);
  }
  for (std::size_t head = 0; head < 6; ++head) {
    EXPECT_NEAR((times[{0, head}]), kOrders / 3.0, 150);  // six standard deviations
    EXPECT_NEAR((times[{2, head}]), kOrders / 6.0, 125);
  }
  EXPECT_NE(heads_by_layer(plan, removed, PruneCriterion::kPk, 1),
            heads_by_layer(plan, removed, PruneCriterion::kNorm, 1));
}

TEST(HeadsByLayer, TakesHeadsThatAreZeroAlreadyFirst) {
  PrunePlan plan = plan_of(2, 4);
  plan.zero = {{1, 2}};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<HeadId> heads =
        heads_by_layer(plan, std::vector<HeadId>{{1, 2}, {1, 0}}, PruneCriterion::kNorm, seed);
    EXPECT_NE(std::ranges::find(heads, HeadId{1, 2}), heads.end());
  }
}

TEST(SequentialTest, CountsOrdersThatDoAsWell) {
  SequentialTest test(1.0);
  for (const double other : {2.0, 3.0, 1.0, 4.0}) test.add(other);
  const ControlTest found = test.result(3);
  EXPECT_EQ(found.orders, 4U);
  EXPECT_EQ(found.better_than, 3U);
  EXPECT_NEAR(found.p, 2 / 5.0, 1e-15);
  EXPECT_EQ(found.p_corrected, 1);
  EXPECT_EQ(found.least, 1);
  EXPECT_EQ(found.median, 2.5);
  EXPECT_EQ(found.most, 4);
  EXPECT_FALSE(test.settled());
}

TEST(SequentialTest, StopsWhenTheAnswerIsClear) {
  SequentialTest test(1.0);
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(test.settled());
    test.add(2.0);
    test.add(0.5);
  }
  EXPECT_TRUE(test.settled());
  EXPECT_NEAR(test.result(1).p, 0.5, 1e-15);
  test.add(2.0);  // further orders count, but do not change p
  EXPECT_EQ(test.result(1).orders, 21U);
  EXPECT_NEAR(test.result(1).p, 0.5, 1e-15);
}

// The damage of a criterion is that of one more random order. P(p <= x) is at most x for each x that p can take.
TEST(SequentialTest, PIsValidUnderChance) {
  constexpr int kTrials = 20000;
  std::map<double, int> below;
  Random random(1);
  for (int trial = 0; trial < kTrials; ++trial) {
    SequentialTest test(random.uniform());
    for (int i = 0; i < 100 && !test.settled(); ++i) test.add(random.uniform());
    const double p = test.result(1).p;
    for (const double level : {0.01, 0.0125, 0.05, 0.1, 0.5}) below[level] += p <= level ? 1 : 0;
  }
  for (const auto& [level, count] : below) {
    const double deviation = std::sqrt(level * (1 - level) / kTrials);
    EXPECT_LE(static_cast<double>(count) / kTrials, level + 4 * deviation) << level;
    EXPECT_GE(static_cast<double>(count) / kTrials, 0.75 * level) << level;
  }
}

}  // namespace
}  // namespace headscope
