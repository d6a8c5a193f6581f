#include "headscope/apply/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "headscope/base/random.h"
#include "support/expect_error.h"

namespace headscope {
namespace {

// A run of one figure and one curve, drawn around a center.
ComparedRun drawn(const std::string& name, double center, std::size_t inputs, std::uint64_t seed) {
  ComparedRun run{name, {}, {{"figure", {}, {}}, {"curve", {1, 2, 3}, {}}}};
  Random random(seed);
  for (std::size_t i = 0; i < inputs; ++i) {
    run.inputs.push_back("");
    run.features[0].samples.push_back({center + random.normal()});
    run.features[1].samples.push_back({random.normal(), random.normal(), center + random.normal()});
  }
  return run;
}

// What runs that do not differ look like: figures and curves with correlated components, sharing part of their
// variation over inputs. `tails` 0: Gaussian, 1: heavy (log-normal with a random sign), 2: skewed (log-normal), 3: few
// values.
ComparedRun alike(std::size_t inputs, int tails, Random& random) {
  const auto draw = [&] {
    const double normal = random.normal();
    if (tails == 1) return (random.index(2) == 0 ? 1 : -1) * std::exp(1.5 * normal);
    if (tails == 2) return std::exp(normal);
    if (tails == 3) return normal > 1 ? 1.0 : 0.0;
    return normal;
  };
  ComparedRun run;
  run.inputs.resize(inputs);
  run.features.resize(8);
  for (std::size_t f = 0; f < 8; ++f) run.features[f].name = std::to_string(f);
  for (std::size_t i = 0; i < inputs; ++i) {
    const double shared = draw();
    for (std::size_t f = 0; f < 6; ++f) run.features[f].samples.push_back({shared + 2 * draw()});
    for (std::size_t f = 6; f < 8; ++f) {
      const double common = draw();
      run.features[f].samples.push_back({3 * common + draw(), 3 * common + draw(), shared + draw(), draw()});
    }
  }
  return run;
}

TEST(Compare, MakesFewFalseClaims) {
  // Any false claim among 8 features, in at most 5 % of comparisons; three standard deviations more are allowed.
  constexpr int kTrials = 150;
  Random random(7);
  for (const auto& [n, m] : {std::pair(1, 24), {2, 6}, {2, 12}, {3, 4}, {4, 4}, {5, 5}}) {
    for (const int tails : {0, 1, 2, 3}) {
      int claims = 0;
      for (int trial = 0; trial < kTrials; ++trial) {
        const Comparison found = compare(std::vector{alike(static_cast<std::size_t>(n), tails, random),
                                                     alike(static_cast<std::size_t>(m), tails, random)});
        claims += std::ranges::any_of(
            found.differences, [](const FeatureDifference& one) { return one.verdict == DifferenceVerdict::kDiffers; });
      }
      EXPECT_LE(claims, 0.05 * kTrials + 3 * std::sqrt(0.05 * 0.95 * kTrials)) << n << " and " << m << ", " << tails;
    }
  }
}

TEST(Compare, MakesFewFalseClaimsOverAllPairsOfRuns) {
  constexpr int kTrials = 60;
  Random random(8);
  int claims = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<ComparedRun> runs;
    for (int run = 0; run < 4; ++run) runs.push_back(alike(6, 0, random));
    const Comparison found = compare(runs);
    EXPECT_EQ(found.pairs, 6U);
    claims += std::ranges::any_of(
        found.differences, [](const FeatureDifference& one) { return one.verdict == DifferenceVerdict::kDiffers; });
  }
  EXPECT_LE(claims, 0.05 * kTrials + 3 * std::sqrt(0.05 * 0.95 * kTrials));
}

TEST(Compare, FindsWhatExceedsTheSpread) {
  const std::vector<ComparedRun> runs = {drawn("a", 0, 6, 1), drawn("b", 0, 6, 2), drawn("c", 8, 6, 3)};
  const Comparison result = compare(runs);
  ASSERT_EQ(result.differences.size(), 6u);
  for (const FeatureDifference& one : result.differences) {
    EXPECT_EQ(one.verdict, one.b == 2 ? DifferenceVerdict::kDiffers : DifferenceVerdict::kNone) << one.a << one.b;
    EXPECT_GE(one.p_family, one.p);
  }
  EXPECT_NEAR(result.differences[2].difference, 8, 2);
  EXPECT_EQ(result.distances(0, 0), 0);
  EXPECT_EQ(result.distances(0, 2), result.distances(2, 0));
  EXPECT_GT(result.distances(0, 2), 4 * result.distances(0, 1));
}

TEST(Compare, ADifferenceWithinTheSpreadIsNoneHoweverManyInputsThereAre) {
  const std::vector<ComparedRun> runs = {drawn("a", 0, 2000, 1), drawn("b", 0.5, 2000, 2)};
  const Comparison result = compare(runs);
  EXPECT_NEAR(result.differences[0].p, 1e-4, 1e-7);
  EXPECT_EQ(result.differences[0].verdict, DifferenceVerdict::kNone);
}

TEST(Compare, ComparesEachInputWithItselfWhereBothRunsSawTheSame) {
  ComparedRun a = drawn("a", 0, 6, 1);
  for (std::size_t i = 0; i < 6; ++i) a.inputs[i] = "text " + std::to_string(i);
  ComparedRun b = a;
  b.name = "b";
  for (std::size_t i = 0; i < 6; ++i) b.features[0].samples[i][0] += 0.1 + 0.01 * static_cast<double>(i);
  const Comparison paired = compare(std::vector{a, b});
  EXPECT_TRUE(paired.differences[0].paired);
  EXPECT_NEAR(paired.differences[0].spread, 0.01 * std::sqrt(3.5), 1e-12);
  EXPECT_EQ(paired.differences[0].verdict, DifferenceVerdict::kDiffers);
  EXPECT_EQ(paired.differences[1].verdict, DifferenceVerdict::kNone);
  EXPECT_EQ(paired.differences[1].p, 1);
  b.inputs[4] = "another text";
  const Comparison unpaired = compare(std::vector{a, b});
  EXPECT_FALSE(unpaired.differences[0].paired);
  EXPECT_EQ(unpaired.differences[0].verdict, DifferenceVerdict::kNone);
}

TEST(Compare, SaysWhereThereIsNoSpread) {
  const Comparison result = compare(std::vector{drawn("a", 0, 1, 1), drawn("b", 9, 1, 2)});
  EXPECT_EQ(result.differences[0].verdict, DifferenceVerdict::kUntested);
  EXPECT_TRUE(std::isnan(result.differences[0].p));
  EXPECT_GT(result.distances(0, 1), 0);
}

TEST(Compare, SaysWhereThereAreTooFewInputs) {
  const auto verdict = [](std::size_t n, std::size_t m) {
    return compare(std::vector{drawn("a", 0, n, 1), drawn("b", 90, m, 2)}).differences[0].verdict;
  };
  EXPECT_EQ(verdict(2, 2), DifferenceVerdict::kUntested);
  EXPECT_EQ(verdict(3, 3), DifferenceVerdict::kUntested);
  EXPECT_EQ(verdict(3, 4), DifferenceVerdict::kDiffers);
  EXPECT_EQ(verdict(1, 19), DifferenceVerdict::kUntested);
  EXPECT_EQ(verdict(1, 20), DifferenceVerdict::kDiffers);
  EXPECT_EQ(inputs_needed(1, false), 4U);
  EXPECT_EQ(inputs_needed(1, true), 6U);
  EXPECT_EQ(inputs_needed(3, false), 5U);
  EXPECT_EQ(inputs_needed(10000, false), 9U);
}

TEST(Compare, TwoEqualSamplesAreNoProofThatThereIsNoSpread) {
  const ComparedRun a{"a", {"", ""}, {{"depth", {}, {{1}, {1}}}}};
  const ComparedRun b{"b", {"", ""}, {{"depth", {}, {{2}, {2}}}}};
  const Comparison result = compare(std::vector{a, b});
  EXPECT_NEAR(result.differences[0].p, 1 / 3.0, 1e-15);  // two of the six ways to part four samples
  EXPECT_EQ(result.differences[0].verdict, DifferenceVerdict::kUntested);
}

TEST(Compare, LeavesOutSamplesThatAreNotDefinedAndFeaturesThatOneRunLacks) {
  ComparedRun a = drawn("a", 0, 4, 1);
  ComparedRun b = drawn("b", 0, 4, 2);
  const double mean = (a.features[0].samples[1][0] + a.features[0].samples[2][0] + a.features[0].samples[3][0]) / 3;
  a.features[0].samples[0][0] = std::nan("");
  b.features.pop_back();
  const Comparison result = compare(std::vector{a, b});
  ASSERT_EQ(result.differences.size(), 1u);
  double other = 0;
  for (const auto& sample : b.features[0].samples) other += sample[0] / 4;
  EXPECT_NEAR(result.differences[0].difference, other - mean, 1e-14);
}

TEST(Compare, RefusesWhatCannotBeCompared) {
  EXPECT_ERROR(compare(std::vector{drawn("a", 0, 2, 1)}), ErrorKind::kInvalidArgument, "expected at least two runs");
  ComparedRun a = drawn("a", 0, 2, 1);
  ComparedRun b = drawn("b", 0, 2, 2);
  for (auto& sample : b.features[1].samples) sample.pop_back();
  EXPECT_ERROR(compare(std::vector{a, b}), ErrorKind::kInvalidArgument, "has 3 components in a but 2 in b");
  ComparedRun c = drawn("c", 0, 4, 3);
  c.features[1].samples.pop_back();
  EXPECT_ERROR(compare(std::vector{a, c}), ErrorKind::kInvalidArgument, "another number of samples");
}

}  // namespace
}  // namespace headscope
