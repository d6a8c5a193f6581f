#include "organize/magnitudes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "support/random.h"

namespace headscope {
namespace {

constexpr double kDouble = std::numeric_limits<double>::epsilon();

// Of all sizes: zeros of both signs, subnormals, the smallest and largest normal numbers, ties.
std::vector<float> all_kinds(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values = {0.0F, -0.0F, 1e-45F, -1e-45F, 1.1754942e-38F, 1.17549435e-38F, -3.4028235e38F, 1, 1, -1};
  while (values.size() < count) {
    const auto bits = static_cast<std::uint32_t>(random());
    const float value = std::bit_cast<float>(bits);
    values.push_back(values.size() % 3 == 0 ? std::bit_cast<float>(bits & 0x807FFFFFU)  // subnormal
                     : std::isfinite(value) ? value
                                            : 1.5F);
  }
  return values;
}

Magnitudes of(std::span<const float> values) {
  Magnitudes result;
  result.add(values);
  return result;
}

TEST(Magnitudes, AreExactlyTheSameInAnyOrderAndParts) {
  std::vector<float> values = all_kinds(5000, 1);
  const Magnitudes whole = of(values);
  std::mt19937_64 random(2);
  for (const std::size_t parts : {1u, 2u, 7u, 5000u}) {
    std::shuffle(values.begin(), values.end(), random);
    Magnitudes sum;
    for (std::size_t p = parts; p-- > 0;) {
      const std::size_t begin = p * values.size() / parts;
      const auto part = std::span<const float>(values).subspan(begin, (p + 1) * values.size() / parts - begin);
      if (p % 2 == 0) {
        sum.add(of(part));
      } else {
        sum.add(part);
      }
    }
    EXPECT_EQ(sum, whole) << parts;
    EXPECT_EQ(sum.l1(), whole.l1());
    EXPECT_EQ(sum.energy(), whole.energy());
  }
}

TEST(Magnitudes, ForgetWhatIsRemoved) {
  const std::vector<float> values = all_kinds(500, 3);
  const std::vector<float> others = all_kinds(700, 4);
  Magnitudes magnitudes = of(values);
  magnitudes.add(others);
  for (const float value : others) magnitudes.remove(-value);
  EXPECT_EQ(magnitudes, of(values));
  for (const float value : values) magnitudes.remove(value);
  EXPECT_EQ(magnitudes, Magnitudes());
  EXPECT_EQ(magnitudes.energy(), 0);
}

TEST(Magnitudes, HaveTheSumsOfTheirNumbers) {
  for (const float scale : {1.0F, 1e-30F, 1e-41F, 1e30F}) {  // the third leaves subnormals only
    std::vector<float> values = test::normals(20000, 5);
    for (float& value : values) value *= scale;
    long double l1 = 0, energy = 0;
    for (const float value : values) {
      l1 += std::abs(static_cast<long double>(value));
      energy += static_cast<long double>(value) * static_cast<long double>(value);
    }
    const Magnitudes found = of(values);
    EXPECT_EQ(found.count(), 20000);
    EXPECT_NEAR(found.l1(), static_cast<double>(l1), 3000 * kDouble * static_cast<double>(l1)) << scale;
    EXPECT_NEAR(found.energy(), static_cast<double>(energy), 3000 * kDouble * static_cast<double>(energy)) << scale;
  }
}

TEST(Magnitudes, AgreeWithSortedOnes) {
  std::vector<float> values = test::normals(3000, 6);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::pow(values[i], 5.0F) * (i % 2 == 0 ? 1.0F : 1e-38F);
    if (i % 10 == 0) values[i] = 0;
  }
  const Magnitudes found = of(values);
  std::vector<double> sorted;
  for (const float value : values) sorted.push_back(std::abs(static_cast<double>(value)));
  std::sort(sorted.rbegin(), sorted.rend());
  std::vector<std::size_t> ranks(sorted.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) ranks[r] = r + 1;
  const std::vector<double> curve = found.at_ranks(ranks);
  double energy = 0;
  for (std::size_t r = 0; r < sorted.size(); ++r) {
    // A class is 2^-7 wide, of subnormals 2^-133.
    ASSERT_NEAR(curve[r], sorted[r], sorted[r] / 128 + 0x1p-133) << r;
    energy += sorted[r] * sorted[r];
    ASSERT_NEAR(found.top_energy(static_cast<double>(r + 1)), energy, energy / 60) << r;
  }
  EXPECT_NEAR(found.top_energy(1e9), found.energy(), 3000 * kDouble * energy);
  double sum = 0;
  double needed = 0;
  while (sum < 0.99 * energy) sum += std::pow(sorted[static_cast<std::size_t>(needed++)], 2);
  EXPECT_NEAR(found.needed(0.99 * found.energy()), needed, 0.02 * needed + 1);
}

TEST(Magnitudes, TravelAsTheClassesThatAreNotEmpty) {
  const std::vector<float> values = {1, 1, 2, 0, 1e-40F};
  MessageWriter message;
  of(values).put(message);
  EXPECT_LT(message.bytes().size(), 5 * 40u);
  Magnitudes().put(message);
  MessageReader reader(message.bytes());
  EXPECT_EQ(Magnitudes::take(reader), of(values));
  EXPECT_EQ(Magnitudes::take(reader), Magnitudes());
  EXPECT_EQ(reader.remaining(), 0u);
}

TEST(Magnitudes, TakeMoreNumbersThanAreCountedAtOnce) {
  const float value = std::bit_cast<float>(0x3F80FFFFU);  // the largest last 16 bits
  const std::vector<float> values(3'000'000, value);
  const Magnitudes found = of(values);
  EXPECT_EQ(found.count(), 3e6);
  EXPECT_EQ(found.l1(), 3e6 * static_cast<double>(value));
  EXPECT_NEAR(found.energy(), 3e6 * static_cast<double>(value) * static_cast<double>(value), 1e-9);
}

TEST(Magnitudes, SayOfInfinityThatItIs) {
  const std::vector<float> values = {1, std::numeric_limits<float>::infinity()};
  EXPECT_TRUE(std::isinf(of(values).l1()));
  EXPECT_TRUE(std::isinf(of(values).energy()));
}

}  // namespace
}  // namespace headscope
