// p-values have to be uniform on data of the null's own kind, and models without wiring must not seem to have any. The
// seeds are fixed; the intervals are what any seed has to meet with high probability.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "headscope/relate/relate.h"
#include "support/random_heads.h"

namespace headscope {
namespace {

using test::RandomHeads;

const std::vector<RolePair> kCircuit = {{Role::kO, Role::kQ}, {Role::kO, Role::kK}, {Role::kO, Role::kV}};

double power_law(std::size_t i) {
  return 1 / static_cast<double>(i + 1);
}
double spikes(std::size_t i) {
  return i < 3 ? 30 : 1;
}

// Over the pairs of heads of all role pairs.
struct Calibration {
  double mean_z = 0;
  double small_p = 0;  // share of p < 0.05
};

Calibration calibrate(const Model& model, Metric metric, NullModel null, std::span<const RolePair> pairs) {
  const auto affinities = compute_affinities(model, metric, pairs, {.earlier_only = true}).value();
  std::vector<MatchedLaw> matched(pairs.size());
  if (null == NullModel::kMatched) matched = matched_laws(model, metric, pairs, {}, {.draws = 32}).value();
  Calibration result;
  double count = 0;
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    const Significance found =
        significance(affinities[k], null, isotropic_dimension(model.info(), WeightProcessing::kFolded), matched[k]);
    for (std::size_t i = 0; i < found.z.values().size(); ++i) {
      if (std::isnan(found.z.values()[i])) continue;
      ++count;
      result.mean_z += static_cast<double>(found.z.values()[i]);
      result.small_p += static_cast<double>(found.log10_p.values()[i]) < std::log10(0.05) ? 1 : 0;
    }
  }
  return {result.mean_z / count, result.small_p / count};
}

TEST(Calibration, IsotropicOnCenteredWeights) {
  const RandomHeads files(/*layer_norm=*/true, 1);
  const Model model = files.open();
  EXPECT_EQ(isotropic_dimension(model.info(), WeightProcessing::kFolded), 63U);
  EXPECT_EQ(isotropic_dimension(model.info(), WeightProcessing::kRaw), 64U);
  for (const Metric metric : {Metric::kPk, Metric::kCs, Metric::kCka, Metric::kCoupling}) {
    const Calibration found = calibrate(model, metric, NullModel::kIsotropic, kCircuit);
    EXPECT_NEAR(found.mean_z, 0, 0.05) << info(metric).name;
    EXPECT_GT(found.small_p, 0.04) << info(metric).name;
    EXPECT_LT(found.small_p, 0.07) << info(metric).name;
  }
}

TEST(Calibration, MatchedOnAnisotropicWeights) {
  const std::vector<RolePair> pairs = {{Role::kO, Role::kQ}, {Role::kO, Role::kK}, {Role::kQ, Role::kQ}};
  for (const auto& spectrum : {power_law, spikes}) {
    const RandomHeads files(/*layer_norm=*/false, 2, spectrum);
    const Model model = files.open();
    EXPECT_EQ(isotropic_dimension(model.info(), WeightProcessing::kFolded), 64U);
    const Calibration found = calibrate(model, Metric::kPk, NullModel::kMatched, pairs);
    EXPECT_NEAR(found.mean_z, 0, 0.15);
    EXPECT_GT(found.small_p, 0.035);
    EXPECT_LT(found.small_p, 0.07);
    // The isotropic null takes the common spectrum for wiring.
    EXPECT_GT(calibrate(model, Metric::kPk, NullModel::kIsotropic, pairs).mean_z, 3);
  }
}

TEST(Calibration, MatchedByMonteCarloForMetricsOfAngles) {
  const RandomHeads files(/*layer_norm=*/true, 3);
  const Model model = files.open();
  for (const Metric metric : {Metric::kMaxCos, Metric::kGrassmann}) {
    const Calibration found = calibrate(model, metric, NullModel::kMatched, std::span(kCircuit).first(1));
    EXPECT_NEAR(found.mean_z, 0, 0.25) << info(metric).name;
    EXPECT_GT(found.small_p, 0.025) << info(metric).name;
    EXPECT_LT(found.small_p, 0.09) << info(metric).name;
  }
}

TEST(Calibration, RandomWeightsHaveNoWiring) {
  for (const bool layer_norm : {true, false}) {
    const RandomHeads files(layer_norm, 4, layer_norm ? power_law : spikes);
    const RelateResult result = relate(files.open()).value();
    EXPECT_EQ(result.wiring.back().pairs, 15 * 64 * 3U);
    EXPECT_EQ(result.wiring.back().beyond_chance, 0U);
    EXPECT_EQ(result.edges.size(), 60U);  // the top is kept, and flagged
    for (const Edge& edge : result.edges) EXPECT_FALSE(edge.beyond_chance || edge.stands_out);
    for (const Hub& hub : result.hubs) {
      EXPECT_FALSE(hub.significant);
      EXPECT_EQ(hub.strength, 0);
    }
    EXPECT_TRUE(result.graph.arcs().empty());
  }
}

TEST(Calibration, TheDemoModelKeepsItsCircuitAndItsTwoHubs) {
  const RelateResult result = relate(Model::open(std::filesystem::path(HEADSCOPE_SOURCE_DIR) / "models/demo")).value();
  std::set<std::string> hubs;
  for (const Hub& hub : result.hubs) {
    if (hub.significant) hubs.insert(to_string(result.graph.nodes()[hub.node]));
  }
  EXPECT_EQ(hubs, (std::set<std::string>{"L0H6", "L1H4"}));  // the heads that look at the word before
  std::set<std::string> keys;
  for (const Edge& edge : result.edges) {
    if (to_string(edge.pair) == "OK" && edge.rank <= 3 && edge.beyond_chance) {
      keys.insert(to_string(edge.source) + ">" + to_string(edge.target));
    }
  }
  EXPECT_EQ(keys, (std::set<std::string>{"L1H4>L2H1", "L1H4>L2H3", "L1H4>L2H7"}));  // induction heads
  EXPECT_LT(result.wiring.back().beyond_chance, result.wiring.back().pairs / 3);
  EXPECT_LE(result.wiring.back().stands_out, result.wiring.back().beyond_chance);
}

TEST(Calibration, SaysWhatTheFlagsRestOnIfMatchedIsNotRequested) {
  const RandomHeads files(/*layer_norm=*/true, 4);
  const RelateResult result = relate(files.open(), {.nulls = {NullModel::kIsotropic}}).value();
  EXPECT_EQ(result.headline, NullModel::kSpan);
  EXPECT_EQ(result.edges.front().nulls.size(), 1U);
  ASSERT_FALSE(result.warnings.empty());
  EXPECT_NE(result.warnings.front().find("rests on the isotropic null alone"), std::string::npos);
}

}  // namespace
}  // namespace headscope
