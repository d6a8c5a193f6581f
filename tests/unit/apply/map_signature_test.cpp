#include "headscope/apply/map_signature.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "headscope/base/random.h"

namespace headscope {
namespace {

using Level = PartitionTree::Level;

TEST(TreeShape, OfHalvesIsOneTwoOne) {
  const std::vector<Level> levels = {{{0, 1, 2, 3}}, {{0, 1}, {2, 3}}, {{0}, {1}, {2}, {3}}};
  const TreeShape shape = tree_shape(PartitionTree(levels));
  EXPECT_DOUBLE_EQ(shape.depth, 1);
  EXPECT_DOUBLE_EQ(shape.branching, 2);
  EXPECT_DOUBLE_EQ(shape.balance, 1);
}

TEST(TreeShape, OfOneCutIntoAllElementsIsShallow) {
  const std::vector<Level> levels = {{{0, 1, 2, 3}}, {{0}, {1}, {2}, {3}}};
  const TreeShape shape = tree_shape(PartitionTree(levels));
  EXPECT_DOUBLE_EQ(shape.depth, 0.5);
  EXPECT_DOUBLE_EQ(shape.branching, 4);
  EXPECT_DOUBLE_EQ(shape.balance, 1);
}

TEST(TreeShape, OfACaterpillarIsDeepAndUnbalanced) {
  // Element 3 stays whole while others are cut: that counts once.
  const std::vector<Level> levels = {{{0, 1, 2, 3}}, {{0, 1, 2}, {3}}, {{0, 1}, {2}, {3}}, {{0}, {1}, {2}, {3}}};
  const TreeShape shape = tree_shape(PartitionTree(levels));
  EXPECT_DOUBLE_EQ(shape.depth, (3 + 3 + 2 + 1) / 4.0 / 2);
  EXPECT_DOUBLE_EQ(shape.branching, 2);
  const auto entropy = [](double p) { return -(p * std::log(p) + (1 - p) * std::log(1 - p)) / std::log(2); };
  EXPECT_NEAR(shape.balance, (4 * entropy(0.25) + 3 * entropy(1 / 3.0) + 2) / 9, 1e-14);
}

NetworkTensor random_maps(std::size_t heads, std::size_t tokens, std::uint64_t seed, float scale = 1) {
  std::vector<float> values(heads * tokens * tokens);
  Random random(seed);
  for (float& value : values) value = scale * static_cast<float>(random.uniform());
  return make_network_tensor(values, Shape{heads, tokens, tokens}, {}, "maps");
}

TEST(MapSignature, HasTheSameFeaturesForEveryNetwork) {
  const auto small = map_signature(random_maps(4, 12, 1)).features;
  const auto large = map_signature(random_maps(9, 20, 2)).features;
  ASSERT_EQ(small.size(), large.size());
  ASSERT_EQ(small.size(), 5 + 3 * 4u);
  for (std::size_t f = 0; f < small.size(); ++f) {
    EXPECT_EQ(small[f].name, large[f].name);
    EXPECT_EQ(small[f].values.size(), large[f].values.size());
    EXPECT_EQ(small[f].x, large[f].x);
  }
  EXPECT_EQ(map_signature(random_maps(1, 12, 1)).features.size(), 5 + 2 * 4u);
}

TEST(MapSignature, DoesNotDependOnTheScaleOfTheMaps) {
  const auto plain = map_signature(random_maps(5, 16, 3)).features;
  const auto scaled = map_signature(random_maps(5, 16, 3, 8)).features;
  for (std::size_t f = 0; f < plain.size(); ++f) {
    for (std::size_t k = 0; k < plain[f].values.size(); ++k) {
      EXPECT_NEAR(plain[f].values[k], scaled[f].values[k], 1e-4) << plain[f].name;
    }
  }
}

TEST(MapSignature, TheDecayCurveFallsAndHasTheRightSize) {
  const auto features = map_signature(random_maps(8, 24, 4)).features;
  const std::vector<double>& decay = features.front().values;
  for (std::size_t k = 1; k < decay.size(); ++k) EXPECT_LE(decay[k], decay[k - 1]);
  EXPECT_GT(decay.front(), 0);   // the largest are above the root mean square,
  EXPECT_LT(decay.back(), 0.1);  // the median is not
}

}  // namespace
}  // namespace headscope
