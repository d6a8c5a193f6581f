#include "app/demo_story.h"

#include <gtest/gtest.h>

namespace headscope::app {
namespace {

HeadScores scored(HeadId head, Detector detector, double score) {
  HeadScores one{.head = head};
  one.scores[static_cast<std::size_t>(detector)] = score;
  return one;
}

Edge edge(HeadId source, HeadId target, bool beyond_chance = true) {
  return {.pair = {Role::kO, Role::kK}, .source = source, .target = target, .beyond_chance = beyond_chance};
}

// Layer 1 has query heads 0 to 5 on KV heads 0 and 1: three each.
constexpr HeadSizes kGrouped{.layers = 2, .heads = 6, .kv_heads = 2};
constexpr HeadId kPrevious{.layer = 0, .head = 4};

DetectResult detected() {
  DetectResult result;
  result.heads = {scored(kPrevious, Detector::kPrevious, 0.9), scored({1, 1}, Detector::kInduction, 0.5),
                  scored({1, 2}, Detector::kInduction, 0.8), scored({1, 3}, Detector::kInduction, 0.1)};
  return result;
}

TEST(InductionEdges, AKvHeadHasTheBestScoreOfItsQueryHeads) {
  RelateResult related;
  related.edges = {edge(kPrevious, {1, 0, true}), edge(kPrevious, {1, 1, true})};
  const auto found = induction_edges(related, detected(), kGrouped, 0.4);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].edge.target, (HeadId{1, 0, true}));
  EXPECT_EQ(found[0].previous, 0.9);
  EXPECT_EQ(found[0].induction, 0.8);
}

TEST(InductionEdges, OtherRolesHeadsAndChanceAreLeftOut) {
  RelateResult related;
  related.edges = {edge(kPrevious, {1, 0, true}, false), edge({0, 5}, {1, 0, true})};
  related.edges.push_back({.pair = {Role::kO, Role::kV}, .source = kPrevious, .target = {1, 0, true}});
  related.edges.back().beyond_chance = true;
  EXPECT_TRUE(induction_edges(related, detected(), kGrouped, 0.4).empty());
}

TEST(InductionEdges, WithoutGroupsAHeadHasItsOwnScore) {
  constexpr HeadSizes kPlain{.layers = 2, .heads = 6, .kv_heads = 6};
  RelateResult related;
  related.edges = {edge(kPrevious, {1, 1}), edge(kPrevious, {1, 3})};
  const auto found = induction_edges(related, detected(), kPlain, 0.4);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].induction, 0.5);
}

}  // namespace
}  // namespace headscope::app
