#include "headscope/patch/agreement.h"

#include <gtest/gtest.h>

#include <cmath>

#include "headscope/base/random.h"
#include "headscope/base/rank_correlation.h"

namespace headscope {
namespace {

MeasuredEdge edge(EdgeKind kind, double effect, double pk, bool beyond_chance = true) {
  MeasuredEdge one;
  one.edge = {{0, 0}, Role::kQ, {1, 0}};
  one.kind = kind;
  one.sample = EdgeKind::kTop;
  one.effect = effect;
  one.pk = pk;
  one.local = std::abs(effect);
  one.beyond_chance = beyond_chance;
  return one;
}

TEST(Agreement, ComparesEffectsWithControls) {
  std::vector<MeasuredEdge> edges;
  for (int i = 0; i < 10; ++i)
    edges.push_back(edge(EdgeKind::kControl, (i % 2 == 0 ? 1 : -1) * 0.001 * i, 1 + 0.1 * i));
  for (int i = 0; i < 8; ++i) edges.push_back(edge(EdgeKind::kTop, -1.0 - i, 5.0 + i));
  edges.push_back(edge(EdgeKind::kTop, 2, 4, /*beyond_chance=*/false));
  edges.push_back(edge(EdgeKind::kTop, 0.0001, 9));
  const std::vector<Role> roles = {Role::kQ, Role::kK};
  const std::vector<Agreement> all = compare_with_controls(edges, roles, 0);
  ASSERT_EQ(all.size(), 1u);
  const Agreement& one = all[0];
  EXPECT_EQ(one.sample, EdgeKind::kTop);
  EXPECT_EQ(one.chosen, 10u);
  EXPECT_EQ(one.controls, 10u);
  EXPECT_NEAR(one.level, 0.00891, 1e-12);  // NumPy: quantile(0.001 * arange(10), 0.99)
  EXPECT_EQ(one.above, 9u);
  EXPECT_NEAR(one.median_control, 0.0045, 1e-12);
  // Ten are above the level, one of them a control; the edge without effect ranks above six of them and beside one.
  EXPECT_NEAR(one.auc_pk, 1 - 6.5 / 100, 1e-12);
  EXPECT_EQ(one.auc_local, 1);
  EXPECT_NEAR(one.rank_correlation_local, 1, 1e-12);
  EXPECT_LT(one.p, 0.001);
  EXPECT_TRUE(edges[10].in_circuit);
  EXPECT_TRUE(edges[18].above_controls);
  EXPECT_FALSE(edges[18].in_circuit);
  EXPECT_FALSE(edges[19].above_controls);
}

TEST(Agreement, FewLargeEffectsAreNoticed) {
  std::vector<MeasuredEdge> edges;
  for (int i = 0; i < 20; ++i) edges.push_back(edge(EdgeKind::kControl, 0.001 * i, 1));
  for (int i = 0; i < 20; ++i) edges.push_back(edge(EdgeKind::kTop, i < 8 ? 1.0 : 0.0005, 1));
  const std::vector<Role> roles = {Role::kQ};
  double p = 2;  // of the precedence test, doubled
  for (int i = 0; i < 8; ++i) p *= (20.0 - i) / (40.0 - i);
  EXPECT_NEAR(compare_with_controls(edges, roles, 0)[0].p, p, 1e-12);
}

TEST(Agreement, WithoutControlsNothingIsSaid) {
  std::vector<MeasuredEdge> edges = {edge(EdgeKind::kTop, 1, 2), edge(EdgeKind::kTop, 3, 1)};
  const std::vector<Role> roles = {Role::kQ};
  const std::vector<Agreement> all = compare_with_controls(edges, roles, 0);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(std::isnan(all[0].level));
  EXPECT_TRUE(std::isnan(all[0].auc_pk));
  EXPECT_TRUE(std::isnan(all[0].p));
  EXPECT_TRUE(std::isnan(all[0].rank_correlation_pk));
  EXPECT_FALSE(edges[0].above_controls);
}

// Edges like their controls are not called better: p is uniform or larger.
TEST(Agreement, PIsValidWithoutEffects) {
  std::size_t below = 0;
  constexpr std::size_t kTrials = 60;
  for (std::size_t trial = 0; trial < kTrials; ++trial) {
    Random random(trial);
    std::vector<MeasuredEdge> edges;
    for (int i = 0; i < 30; ++i)
      edges.push_back(edge(i < 15 ? EdgeKind::kTop : EdgeKind::kControl, random.normal(), 1));
    const std::vector<Role> roles = {Role::kQ};
    below += compare_with_controls(edges, roles, trial)[0].p <= 0.05 ? 1 : 0;
  }
  EXPECT_LE(below, 8u);  // 3 expected, three standard deviations more
}

TEST(RankCorrelation, IsScipys) {
  const std::vector<double> a = {1, 2, 2, 4, 5};
  const std::vector<double> b = {5, 6, 7, 8, 7};
  // scipy.stats.spearmanr(a, b)
  EXPECT_NEAR(rank_correlation(std::span<const double>(a), std::span<const double>(b)), 0.7631578947368421, 1e-12);
}

}  // namespace
}  // namespace headscope
