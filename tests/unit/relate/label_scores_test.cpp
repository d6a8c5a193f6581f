// The golden rankings are scikit-learn's; tests/golden/make_label_scores.py makes them.
#include "headscope/relate/label_scores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "headscope/io/json.h"
#include "support/expect_error.h"
#include "support/pk_edges.h"

namespace headscope {
namespace {

const std::filesystem::path kSource = HEADSCOPE_SOURCE_DIR;

TEST(LabelScores, AreScikitLearns) {
  const JsonDocument document = JsonDocument::open(kSource / "tests/golden/label_scores.json");
  std::size_t cases = 0;
  for (const auto [name, each] : document.root().members()) {
    std::vector<ScoredPair> pairs;
    for (const JsonValue score : each.find("scores").items()) pairs.push_back({score.as_number().value(), false});
    std::size_t i = 0;
    for (const JsonValue truth : each.find("truth").items()) pairs.at(i++).positive = truth.as_unsigned() == 1u;
    ASSERT_EQ(i, pairs.size());

    const LabelScores scores = score_labels(pairs, 20);

    EXPECT_NEAR(scores.roc_auc, each.find("roc_auc").as_number().value(), 1e-12) << name;
    EXPECT_NEAR(scores.average_precision, each.find("average_precision").as_number().value(), 1e-12) << name;
    ++cases;
  }
  EXPECT_EQ(cases, 6u);
}

TEST(LabelScores, OfAPerfectAndOfAReversedRanking) {
  const LabelScores best = score_labels(std::vector<ScoredPair>{{1, false}, {4, true}, {3, true}, {2, false}}, 2);
  EXPECT_EQ(best.pairs, 4u);
  EXPECT_EQ(best.positives, 2u);
  EXPECT_EQ(best.roc_auc, 1);
  EXPECT_EQ(best.average_precision, 1);
  EXPECT_EQ(best.precision_at_k, 1);
  const LabelScores worst = score_labels(std::vector<ScoredPair>{{1, true}, {4, false}, {3, false}, {2, true}}, 3);
  EXPECT_EQ(worst.roc_auc, 0);
  EXPECT_DOUBLE_EQ(worst.average_precision, 0.5 * (1.0 / 3) + 0.5 * (2.0 / 4));
  EXPECT_DOUBLE_EQ(worst.precision_at_k, 1.0 / 3);
}

TEST(LabelScores, ShareATiedPlaceAmongItsPairs) {
  // After the first place, two of the four tied pairs are positives; one and two of the four are taken.
  const std::vector<ScoredPair> pairs = {{9, true}, {5, true}, {5, false}, {5, false}, {5, true}, {1, false}};
  EXPECT_DOUBLE_EQ(score_labels(pairs, 1).precision_at_k, 1);
  EXPECT_DOUBLE_EQ(score_labels(pairs, 2).precision_at_k, 1.5 / 2);
  EXPECT_DOUBLE_EQ(score_labels(pairs, 3).precision_at_k, 2.0 / 3);
  EXPECT_DOUBLE_EQ(score_labels(pairs, 5).precision_at_k, 3.0 / 5);
  EXPECT_DOUBLE_EQ(score_labels(pairs, 1000).precision_at_k, 3.0 / 6);
}

TEST(LabelScores, DoNotDependOnTheOrderOfThePairs) {
  std::mt19937 random(7);
  std::vector<ScoredPair> pairs;
  for (int i = 0; i < 500; ++i) pairs.push_back({static_cast<double>(random() % 20), random() % 3 == 0});
  const LabelScores once = score_labels(pairs, 33);
  std::shuffle(pairs.begin(), pairs.end(), random);
  const LabelScores again = score_labels(pairs, 33);
  EXPECT_EQ(once.roc_auc, again.roc_auc);
  EXPECT_EQ(once.average_precision, again.average_precision);
  EXPECT_EQ(once.precision_at_k, again.precision_at_k);
}

TEST(LabelScores, AreNanWhereTheyAreNotDefined) {
  const LabelScores negatives = score_labels(std::vector<ScoredPair>{{1, false}, {2, false}}, 1);
  EXPECT_TRUE(std::isnan(negatives.roc_auc));
  EXPECT_TRUE(std::isnan(negatives.average_precision));
  EXPECT_EQ(negatives.precision_at_k, 0);
  const LabelScores positives = score_labels(std::vector<ScoredPair>{{1, true}, {2, true}}, 0);
  EXPECT_TRUE(std::isnan(positives.roc_auc));
  EXPECT_EQ(positives.average_precision, 1);
  EXPECT_TRUE(std::isnan(positives.precision_at_k));
  const LabelScores nothing = score_labels({}, 20);
  EXPECT_EQ(nothing.pairs, 0u);
  EXPECT_TRUE(std::isnan(nothing.roc_auc));
  EXPECT_TRUE(std::isnan(nothing.average_precision));
  EXPECT_TRUE(std::isnan(nothing.precision_at_k));
}

TEST(LabelScores, RefuseScoresThatCannotBeRanked) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_ERROR(score_labels(std::vector<ScoredPair>{{1, true}, {nan, false}}, 1), ErrorKind::kNumeric,
               "pair 1 of 2 has score nan");
}

TEST(LabelScores, CountThePublishedHeadsInsideAndOutsideClasses) {
  const HeadLabels labels = load_labels(kSource / "data/labels/gpt2-small-pk.json");
  const ClassCounts counts = count_heads(test::pk_graph(), labels, 20);
  EXPECT_EQ(counts.inside, 24u);
  EXPECT_EQ(counts.outside, 28u);
}

TEST(LabelScores, CountOnlyTheHeadsOfTheTopEdges) {
  const HeadLabels labels = HeadLabels::parse(R"({"classes": {"a": ["0.0"]}})", "labels.json");
  const HeadGraph graph({{0, 0, false}, {0, 1, false}, {1, 0, false}},
                        {{0, 2, "OK", 1, 1, 1}, {1, 2, "OK", 2, 2, 2}, {1, 2, "OQ", 3, 3, 3}});
  EXPECT_EQ(count_heads(graph, labels, 1).inside, 0u);
  EXPECT_EQ(count_heads(graph, labels, 1).outside, 2u);
  EXPECT_EQ(count_heads(graph, labels, 2).inside, 1u);
  EXPECT_EQ(count_heads(graph, labels, 0).outside, 0u);
}

}  // namespace
}  // namespace headscope
