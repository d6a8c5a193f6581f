#include "headscope/relate/informativeness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "headscope/base/parallel.h"
#include "headscope/base/random.h"

namespace headscope {
namespace {

constexpr std::size_t kWidth = 256;
constexpr std::size_t kHead = 32;

// Layers of heads whose affinities are `value(source, target)`.
Affinities planted(std::size_t layers, std::size_t heads,
                   const std::function<double(std::size_t, std::size_t)>& value) {
  Affinities result;
  result.pair = {Role::kO, Role::kQ};
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (std::size_t head = 0; head < heads; ++head) {
      result.source.heads.push_back({layer, head});
      result.target.heads.push_back({layer, head});
    }
  }
  const std::size_t count = layers * heads;
  result.values = Matrix(count, count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) result.values(i, j) = static_cast<float>(value(i, j));
  }
  return result;
}

NullMoments random_moments() {
  return isotropic_moments({kHead, kHead}, {kHead, kHead}, kWidth);
}

// Affinities with effects of source, target and pair, in standard deviations of random.
Affinities with_effects(Random& random, double shift, double effect, double noise) {
  const NullMoments null = random_moments();
  std::vector<double> source(48);
  std::vector<double> target(48);
  for (double& one : source) one = random.normal();
  for (double& one : target) one = random.normal();
  return planted(6, 8, [&](std::size_t i, std::size_t j) {
    return null.mean + null.deviation * (shift + effect * (source[i] + target[j]) + noise * random.normal());
  });
}

// What infinitely many heads would give.
double truth(double shift, double effect, double noise) {
  const NullMoments null = random_moments();
  const double deviation = null.deviation * std::sqrt(2 * effect * effect + noise * noise);
  const double mean = null.mean + shift * null.deviation;
  const auto mass = [](double from, double to, double m, double s) {
    return (std::erf((to - m) / s / std::sqrt(2)) - std::erf((from - m) / s / std::sqrt(2))) / 2;
  };
  double value = 0;
  for (int bin = 0; bin < 200; ++bin) {
    const double p = mass(bin * 0.252, (bin + 1) * 0.252, null.mean, null.deviation);
    const double q = mass(bin * 0.252, (bin + 1) * 0.252, mean, deviation);
    if (p > 1e-9) value += p * std::log(p / q);
  }
  return value;
}

// 120 trials; 95 % of 120 is 114, and three standard deviations are 7.
TEST(Informativeness, IntervalsCoverTheTruthOnPlantedData) {
  Random random(3);
  for (const auto& [shift, effect, noise] : std::vector<std::array<double, 3>>{{1, 0.7, 1}, {4, 3, 2}, {0.5, 0, 1}}) {
    const double expected = truth(shift, effect, noise);
    int covered = 0;
    for (int trial = 0; trial < 120; ++trial) {
      const Informativeness found = informativeness(with_effects(random, shift, effect, noise), kWidth, kHead, kHead,
                                                    {.draws = 200, .seed = static_cast<std::uint64_t>(trial)});
      ASSERT_TRUE(found.paper_low && found.paper_high);
      EXPECT_LE(*found.paper_low, found.paper);
      EXPECT_GE(*found.paper_high, found.paper);
      covered += *found.paper_low <= expected && expected <= *found.paper_high ? 1 : 0;
    }
    EXPECT_GE(covered, 106) << shift << " " << effect;
    EXPECT_LE(covered, 120);
  }
}

TEST(Informativeness, OfRandomPairsReachesDownToZero) {
  Random random(4);
  int zero = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const Informativeness found = informativeness(with_effects(random, 0, 0, 1), kWidth, kHead, kHead);
    zero += found.paper_low == 0.0 ? 1 : 0;
    EXPECT_FALSE(found.at_ceiling);
  }
  EXPECT_GE(zero, 35);
}

TEST(Informativeness, SaysWhenItIsAtItsCeiling) {
  const NullMoments null = random_moments();
  const Informativeness far =
      informativeness(planted(2, 8, [&](std::size_t, std::size_t) { return null.mean + 3; }), kWidth, kHead, kHead);
  EXPECT_TRUE(far.at_ceiling);
  EXPECT_DOUBLE_EQ(far.paper, far.ceiling);
  EXPECT_FALSE(far.paper_low || far.paper_high);
  // 64 pairs, all in other bins: sum of p ln(p (64 + bins / 2) / 0.5), which is below ln(2 * 64 + bins).
  EXPECT_LT(far.ceiling, std::log(2 * 64 + 20));
  EXPECT_GT(far.ceiling, 2);
  // More pairs can show more.
  const Informativeness more =
      informativeness(planted(6, 8, [&](std::size_t, std::size_t) { return null.mean + 3; }), kWidth, kHead, kHead);
  EXPECT_GT(more.ceiling, far.ceiling + 2);
}

// Most of random lies where no pair is, but some pairs are near: below the ceiling, and still no interval.
TEST(Informativeness, HasNoIntervalWhereFewPairsAre) {
  Random random(5);
  const NullMoments null = random_moments();
  const Informativeness found = informativeness(
      planted(2, 8, [&](std::size_t, std::size_t) { return null.mean + null.deviation * (3 + random.normal()); }),
      kWidth, kHead, kHead);
  EXPECT_FALSE(found.at_ceiling);
  EXPECT_GT(found.sparse_mass, 0.25);
  EXPECT_FALSE(found.paper_low || found.paper_high);
}

TEST(Informativeness, IntervalsDependOnTheSeedAndNotOnThreads) {
  Random random(6);
  const Affinities affinities = with_effects(random, 1, 1, 1);
  set_thread_count(1);
  const Informativeness one = informativeness(affinities, kWidth, kHead, kHead);
  set_thread_count(3);
  const Informativeness three = informativeness(affinities, kWidth, kHead, kHead);
  set_thread_count(0);
  EXPECT_EQ(one.paper_low, three.paper_low);
  EXPECT_EQ(one.paper_high, three.paper_high);
  const Informativeness other = informativeness(affinities, kWidth, kHead, kHead, {.draws = 400, .seed = 1});
  EXPECT_NE(one.paper_high, other.paper_high);
  EXPECT_EQ(one.paper, other.paper);
}

}  // namespace
}  // namespace headscope
