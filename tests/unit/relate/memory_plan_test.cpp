#include "relate/memory_plan.h"

#include <gtest/gtest.h>

namespace headscope {
namespace {

ModelInfo model_of(std::size_t layers, std::size_t heads) {
  ModelInfo info;
  info.sizes.layers = layers;
  info.sizes.heads = info.sizes.kv_heads = heads;
  info.sizes.d_model = 64;
  info.sizes.d_head = 2;
  return info;
}

TEST(RelateMemory, GrowsWithTheSquareOfTheHeads) {
  const std::size_t small = relate_memory(model_of(50, 32), {}).needed();
  const std::size_t large = relate_memory(model_of(100, 32), {}).needed();
  EXPECT_GT(large, 3 * small);
  EXPECT_LT(large, 5 * small);
}

// 3200 heads were measured to take 660 MB.
TEST(RelateMemory, IsNearWhatWasMeasured) {
  const RelateMemory memory = relate_memory(model_of(100, 32), {});
  EXPECT_EQ(memory.heads, 3200U);
  EXPECT_GT(memory.needed(), 500e6);
  EXPECT_LT(memory.needed(), 900e6);
}

TEST(RelateMemory, CountsRolePairsMetricsAndEdges) {
  const ModelInfo model = model_of(20, 10);
  RelateOptions one;
  one.pairs = {{Role::kO, Role::kQ}};
  RelateOptions two = one;
  two.pairs.push_back({Role::kO, Role::kK});
  RelateOptions metrics = one;
  metrics.metrics.push_back(Metric::kCs);
  RelateOptions edges = one;
  edges.top = 1000;
  const std::size_t least = relate_memory(model, one).needed();
  EXPECT_GE(relate_memory(model, two).needed(), least + 4 * 200 * 200);
  EXPECT_GE(relate_memory(model, metrics).needed(), least + 4 * 200 * 200);
  EXPECT_EQ(relate_memory(model, edges).results, relate_memory(model, one).results + 980 * kEdgeBytes);
}

TEST(RelateMemory, CountsOnlySelectedHeads) {
  RelateOptions some;
  some.affinity.layers = {0, 1};
  EXPECT_EQ(relate_memory(model_of(100, 32), some).heads, 64U);
  EXPECT_LT(relate_memory(model_of(100, 32), some).needed(), relate_memory(model_of(100, 32), {}).needed() / 100);
}

TEST(RelateMemory, SizesThatOverflowAreNotEnough) {
  ModelInfo model = model_of(2, 2);
  model.sizes.d_model = std::size_t{1} << 40;
  EXPECT_GT(relate_memory(model, {}).needed(), std::size_t{1} << 62);
}

}  // namespace
}  // namespace headscope
