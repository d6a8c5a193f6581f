#include "headscope/apply/compare.h"

#include <gtest/gtest.h>

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

TEST(StudentTail, AgreesWithTables) {
  // Printed to ten digits or more in tables of quantiles.
  EXPECT_NEAR(student_tail(1, 1), 0.5, 1e-15);
  EXPECT_NEAR(student_tail(12.7062047362, 1), 0.05, 1e-10);
  EXPECT_NEAR(student_tail(4.30265272991, 2), 0.05, 1e-10);
  EXPECT_NEAR(student_tail(3.18244630528, 3), 0.05, 1e-10);
  EXPECT_NEAR(student_tail(2.22813885199, 10), 0.05, 1e-10);
  EXPECT_NEAR(student_tail(2.20098516009, 11), 0.05, 1e-10);
  EXPECT_NEAR(student_tail(2.62589052144, 100), 0.01, 1e-10);
  EXPECT_EQ(student_tail(0, 7), 1);
}

TEST(Compare, CallsWhatTheInputsExplainNoDifference) {
  // 40 times two samples of the same distribution: at 5 % for both features together, two false alarms are expected.
  std::size_t alarms = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const std::vector<ComparedRun> runs = {drawn("a", 0, 6, 2 * seed), drawn("b", 0, 6, 2 * seed + 1)};
    for (const FeatureDifference& one : compare(runs).differences) {
      alarms += one.verdict == DifferenceVerdict::kDiffers ? 1U : 0U;
    }
  }
  EXPECT_LE(alarms, 5u);
}

TEST(Compare, FindsWhatExceedsTheSpread) {
  const std::vector<ComparedRun> runs = {drawn("a", 0, 6, 1), drawn("b", 0, 6, 2), drawn("c", 8, 6, 3)};
  const Comparison result = compare(runs);
  ASSERT_EQ(result.differences.size(), 6u);
  for (const FeatureDifference& one : result.differences) {
    EXPECT_EQ(one.verdict, one.b == 2 ? DifferenceVerdict::kDiffers : DifferenceVerdict::kNone) << one.a << one.b;
    EXPECT_GE(one.p_holm, one.p);
  }
  EXPECT_NEAR(result.differences[2].difference, 8, 2);
  EXPECT_EQ(result.distances(0, 0), 0);
  EXPECT_EQ(result.distances(0, 2), result.distances(2, 0));
  EXPECT_GT(result.distances(0, 2), 4 * result.distances(0, 1));
}

TEST(Compare, ADifferenceWithinTheSpreadIsNoneHoweverManyInputsThereAre) {
  const std::vector<ComparedRun> runs = {drawn("a", 0, 2000, 1), drawn("b", 0.5, 2000, 2)};
  const Comparison result = compare(runs);
  EXPECT_LT(result.differences[0].p, 1e-6);
  EXPECT_EQ(result.differences[0].verdict, DifferenceVerdict::kNone);
}

TEST(Compare, ComparesEachInputWithItselfWhereBothRunsSawTheSame) {
  ComparedRun a = drawn("a", 0, 5, 1);
  for (std::size_t i = 0; i < 5; ++i) a.inputs[i] = "text " + std::to_string(i);
  ComparedRun b = a;
  b.name = "b";
  for (std::size_t i = 0; i < 5; ++i) b.features[0].samples[i][0] += 0.1 + 0.01 * static_cast<double>(i);
  const Comparison paired = compare(std::vector{a, b});
  EXPECT_TRUE(paired.differences[0].paired);
  EXPECT_NEAR(paired.differences[0].spread, 0.01 * std::sqrt(2.5), 1e-12);
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
  const Comparison one_sided = compare(std::vector{drawn("a", 0, 1, 1), drawn("b", 30, 5, 2)});
  EXPECT_EQ(one_sided.differences[0].verdict, DifferenceVerdict::kDiffers);
}

TEST(Compare, TwoEqualSamplesAreNoProofThatThereIsNoSpread) {
  const ComparedRun a{"a", {"", ""}, {{"depth", {}, {{1}, {1}}}}};
  const ComparedRun b{"b", {"", ""}, {{"depth", {}, {{2}, {2}}}}};
  const Comparison result = compare(std::vector{a, b});
  EXPECT_NEAR(result.differences[0].p, 1 / 3.0, 1e-15);  // two of the six ways to part four samples
  EXPECT_EQ(result.differences[0].verdict, DifferenceVerdict::kNone);
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
}

}  // namespace
}  // namespace headscope
