#include "forward/route.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace headscope {
namespace {

std::vector<ChosenExpert> chosen_of(const Router& router, const std::vector<float>& logits,
                                    const std::vector<float>& correction = {}) {
  std::vector<ChosenExpert> chosen(router.chosen);
  choose_experts(router, logits, correction, chosen);
  return chosen;
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

TEST(Route, WeightsAreSharesOfTheSoftmaxOrOfTheChosenOnes) {
  Router router{.chosen = 2, .normalized = false, .scaling = 3};
  const std::vector<float> logits = {0.5F, 2, -1, 1};
  const double sum = std::exp(0.5) + std::exp(2.0) + std::exp(-1.0) + std::exp(1.0);
  std::vector<ChosenExpert> found = chosen_of(router, logits);
  EXPECT_EQ(found[0].expert, 1u);
  EXPECT_EQ(found[1].expert, 3u);
  EXPECT_NEAR(found[0].weight, 3 * std::exp(2.0) / sum, 1e-6);
  EXPECT_NEAR(found[1].weight, 3 * std::exp(1.0) / sum, 1e-6);
  router.normalized = true;
  found = chosen_of(router, logits);
  EXPECT_NEAR(found[0].weight, 3 * sigmoid(1), 1e-6);
  EXPECT_NEAR(found[0].weight + found[1].weight, 3, 1e-6);
}

TEST(Route, OfEqualScoresTheFirstIsChosen) {
  const std::vector<ChosenExpert> found = chosen_of({.chosen = 2}, {1, 1, 1});
  EXPECT_EQ(found[0].expert, 0u);
  EXPECT_EQ(found[1].expert, 1u);
}

TEST(Route, ACorrectionChoosesButDoesNotWeigh) {
  const Router router{.score = RouterScore::kSigmoid, .chosen = 1, .normalized = false};
  const std::vector<ChosenExpert> found = chosen_of(router, {2, 0, 1}, {0, 1, 0});
  EXPECT_EQ(found[0].expert, 1u);
  EXPECT_NEAR(found[0].weight, 0.5, 1e-6);
}

// Experts 0 and 1 are a group, and so on. The largest score is alone in its group.
TEST(Route, GroupsCountByTheirBestTwoOrTheirBestOne) {
  Router router{.score = RouterScore::kSigmoid, .chosen = 2, .groups = 3, .chosen_groups = 1, .normalized = false};
  const std::vector<float> logits = {3, -9, 2, 2, 1, 1.5F};
  std::vector<ChosenExpert> found = chosen_of(router, logits);
  EXPECT_EQ(found[0].expert, 2u);
  EXPECT_EQ(found[1].expert, 3u);
  router.best_of_group = true;
  found = chosen_of(router, logits);
  EXPECT_EQ(found[0].expert, 0u);
  EXPECT_EQ(found[1].expert, 1u);
}

// Scores further than the tolerance from the largest have no part in its softmax.
TEST(Route, TheSparseMixerLeavesOutDistantScores) {
  const Router router{.score = RouterScore::kSparseMixer, .chosen = 2, .tolerance = 0.2F};
  const std::vector<ChosenExpert> found = chosen_of(router, {10, 9, 1, 2});
  EXPECT_EQ(found[0].expert, 0u);
  EXPECT_NEAR(found[0].weight, sigmoid(1), 1e-6);
  EXPECT_EQ(found[1].expert, 1u);
  EXPECT_NEAR(found[1].weight, 1, 1e-6);
}

TEST(Route, EndsIfTheScoresAreNotNumbers) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const RouterScore score : {RouterScore::kSoftmax, RouterScore::kSigmoid, RouterScore::kSparseMixer}) {
    const std::vector<ChosenExpert> found = chosen_of({.score = score, .chosen = 2}, {nan, nan, nan});
    EXPECT_NE(found[0].expert, found[1].expert);
  }
}

}  // namespace
}  // namespace headscope
