#include "headscope/relate/metric.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string_view>

namespace headscope {
namespace {

TEST(Metric, SimilaritiesGrowWithClosenessAndAreNotNegative) {
  EXPECT_EQ(similarity(Metric::kPk, 2.5F), 2.5);
  EXPECT_EQ(similarity(Metric::kPk, -1e-7F), 0);
  EXPECT_EQ(similarity(Metric::kBinetCauchy, -2.0F), std::exp(-2.0));
  for (const MetricInfo& metric : all_metrics()) {
    const double less = similarity(metric.metric, 0.25F);
    const double more = similarity(metric.metric, 0.75F);
    EXPECT_GT(less, 0) << metric.name;
    EXPECT_EQ(more > less, !metric.distance) << metric.name;
  }
}

TEST(Metric, IsFoundByItsNumberAndByItsName) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < all_metrics().size(); ++i) {
    const MetricInfo& one = all_metrics()[i];
    EXPECT_EQ(one.metric, static_cast<Metric>(i));
    EXPECT_EQ(&info(one.metric), &one);
    EXPECT_EQ(parse_metric(one.name), one.metric);
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
  }
  EXPECT_EQ(all_metrics().back().metric, Metric::kCoupling);
  EXPECT_FALSE(parse_metric(""));
}

TEST(Metric, HasThePropertiesOfItsFactor) {
  for (const MetricInfo& one : all_metrics()) {
    EXPECT_TRUE(!one.angles() || !one.root) << one.name;
  }
  EXPECT_TRUE(info(Metric::kPk).subspaces());
  EXPECT_TRUE(info(Metric::kGrassmann).subspaces());
  EXPECT_FALSE(info(Metric::kCka).subspaces());
  EXPECT_TRUE(info(Metric::kCs).by_query_head());
  EXPECT_TRUE(info(Metric::kRopeCs).by_query_head());
  EXPECT_FALSE(info(Metric::kSimpleCs).by_query_head());
  EXPECT_TRUE(is_defined(Metric::kRopeCs, {Role::kO, Role::kK}));
  EXPECT_FALSE(is_defined(Metric::kRopeCs, {Role::kQ, Role::kK}));
}

}  // namespace
}  // namespace headscope
