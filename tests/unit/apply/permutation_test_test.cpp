#include "apply/permutation_test.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "headscope/base/random.h"

namespace headscope {
namespace {

using Samples = std::vector<std::vector<double>>;

PermutationPs test_of(const std::vector<Samples>& a, const std::vector<Samples>& b, bool pairs = false,
                      std::size_t comparisons = 1) {
  std::vector<TwoSamples> features;
  for (std::size_t f = 0; f < a.size(); ++f) features.push_back({a[f], b[f]});
  return permutation_test(features, pairs, comparisons);
}

TEST(PermutationTest, IsTheFractionOfAssignments) {
  // 3 and 4 inputs, all of one side larger: the most extreme of 35 assignments.
  const PermutationPs one = test_of({{{1}, {2}, {3}}}, {{{11}, {12}, {13}, {14}}});
  EXPECT_NEAR(one.alone[0], 1 / 35.0, 1e-12);
  EXPECT_NEAR(one.family[0], 1 / 35.0, 1e-12);
  // With equal numbers, the reversed assignment is as extreme.
  EXPECT_NEAR(test_of({{{1}, {1}}}, {{{2}, {2}}}).alone[0], 2 / 6.0, 1e-12);
  EXPECT_NEAR(test_of({{{1}, {2}, {4}}}, {{{2}, {4}, {7}}}, true).alone[0], 2 / 8.0, 1e-12);
  EXPECT_NEAR(test_of({{{1}, {2}, {3}}}, {{{11}, {12}, {13}, {14}}}, false, 3).family[0], 3 / 35.0, 1e-12);
  EXPECT_NEAR(test_of({{{1}, {2}, {3}}}, {{{11}, {12}, {13}, {14}}}, false, 3).alone[0], 1 / 35.0, 1e-12);
}

TEST(PermutationTest, EqualSamplesGiveOne) {
  const Samples same(4, {0.1});
  const PermutationPs found = test_of({same, {{1}, {2}, {3}, {4}}}, {same, {{4}, {3}, {2}, {1}}});
  EXPECT_EQ(found.alone[0], 1);
  EXPECT_EQ(found.family[0], 1);
  EXPECT_EQ(found.family[1], 1);
  EXPECT_EQ(test_of({same}, {same}, true).family[0], 1);
}

TEST(PermutationTest, IgnoresWhatIsNotDefined) {
  const double unknown = std::nan("");
  const PermutationPs found = test_of({{{1}, {unknown}, {3}, {2}}}, {{{11}, {12}, {13}, {14}}});
  // Of the 70 assignments of 8 inputs, those that part the 7 others as observed.
  EXPECT_NEAR(found.alone[0], 1 / 35.0, 0.02);
  EXPECT_LE(test_of({{{1}, {2}}}, {{{unknown}, {5}}}, true).alone[0], 1);
}

TEST(PermutationTest, CorrectsForTheLargestOfManyFeatures) {
  Random random(3);
  std::vector<Samples> a(10);
  std::vector<Samples> b(10);
  for (std::size_t f = 0; f < a.size(); ++f) {
    for (int i = 0; i < 6; ++i) a[f].push_back({random.normal()});
    for (int i = 0; i < 6; ++i) b[f].push_back({random.normal() + (f == 4 ? 8 : 0)});
  }
  const PermutationPs found = test_of(a, b);
  for (std::size_t f = 0; f < a.size(); ++f) {
    EXPECT_GE(found.family[f], found.alone[f]);
    EXPECT_EQ(found.family[f] < 0.05, f == 4) << f;
  }
}

TEST(PermutationTest, DrawsAssignmentsIfThereAreMany) {
  Samples a;
  Samples b;
  for (int i = 0; i < 30; ++i) {
    a.push_back({0.01 * i});
    b.push_back({5 + 0.01 * i});
  }
  EXPECT_NEAR(test_of({a}, {b}).alone[0], 1 / 10001.0, 1e-12);
  EXPECT_NEAR(smallest_permutation_p(30, 30, false), 1 / 10001.0, 1e-12);
  EXPECT_NEAR(smallest_permutation_p(30, 30, false, 1000), 1 / 100001.0, 1e-12);
  EXPECT_NEAR(smallest_permutation_p(4, 4, false), 2 / 70.0, 1e-12);
  EXPECT_NEAR(smallest_permutation_p(1, 20, false), 1 / 21.0, 1e-12);
  EXPECT_NEAR(smallest_permutation_p(6, 6, true), 2 / 64.0, 1e-12);
}

}  // namespace
}  // namespace headscope
