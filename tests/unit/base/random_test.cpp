#include "headscope/base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace headscope {
namespace {

TEST(Random, DependsOnSeedAndStreamAlone) {
  std::set<std::uint64_t> first;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (std::uint64_t stream = 0; stream < 20; ++stream) {
      Random a(seed, {stream, 3});
      Random b(seed, {stream, 3});
      const std::uint64_t bits = a.bits();
      EXPECT_EQ(bits, b.bits());
      first.insert(bits);
    }
    first.insert(Random(seed).bits());
    first.insert(Random(seed, {3, 0}).bits());
  }
  EXPECT_EQ(first.size(), 20u * 22u);  // {0, 3} and {3, 0} are two streams
}

TEST(Random, GivesNormalNumbers) {
  Random random(1);
  const int count = 200000;
  double sum = 0;
  double squares = 0;
  double fourth = 0;
  for (int i = 0; i < count; ++i) {
    const double x = random.normal();
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  // Five standard errors of each moment.
  const double root = std::sqrt(static_cast<double>(count));
  EXPECT_NEAR(sum / count, 0, 5 / root);
  EXPECT_NEAR(squares / count, 1, 5 * std::sqrt(2.0) / root);
  EXPECT_NEAR(fourth / count, 3, 5 * std::sqrt(96.0) / root);
}

TEST(Random, GivesEveryIndexEquallyOften) {
  Random random(2);
  std::vector<int> counts(7);
  for (int i = 0; i < 70000; ++i) ++counts[random.index(7)];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 5 * std::sqrt(10000.0));
}

}  // namespace
}  // namespace headscope
