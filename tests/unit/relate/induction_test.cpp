// A circuit that is known from behavior: a two-layer attention-only model trained to copy (models/induction). Which of
// its heads matter was measured in PyTorch by ablation and by what they attend to; the test compares with that.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "headscope/io/json.h"
#include "headscope/relate/relate.h"

namespace headscope {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(HEADSCOPE_SOURCE_DIR) / "models/induction";

struct Behavior {
  HeadId most_damaging;        // the head of layer 0 whose ablation hurts copying most
  std::set<HeadId> induction;  // heads that attend to what followed the last time
};

Behavior measured_behavior() {
  const JsonDocument document = JsonDocument::open(kFolder / "behavior.json");
  Behavior behavior;
  double worst = -1;
  for (const JsonValue head : document.root().find("heads").items()) {
    const HeadId id{static_cast<std::size_t>(*head.find("layer").as_unsigned()),
                    static_cast<std::size_t>(*head.find("head").as_unsigned()), false};
    const double damage = head.find("loss_increase").as_number().value();
    if (id.layer == 0 && damage > worst) {
      worst = damage;
      behavior.most_damaging = id;
    }
    if (head.find("induction").as_number().value() > 0.4) behavior.induction.insert(id);
  }
  return behavior;
}

class InductionCircuit : public testing::TestWithParam<Metric> {};

TEST_P(InductionCircuit, IsTheTopOfTheOkEdges) {
  const Behavior behavior = measured_behavior();
  ASSERT_GE(behavior.induction.size(), 2u);
  RelateOptions options;
  options.metrics = {GetParam()};
  options.pairs = {{Role::kO, Role::kK}};
  options.top = behavior.induction.size();
  const RelateResult result = relate(Model::open(kFolder), options).value();
  std::set<HeadId> targets;
  for (const Edge& edge : result.edges) {
    EXPECT_EQ(edge.source, behavior.most_damaging);
    EXPECT_TRUE(edge.beyond_chance);
    EXPECT_GT(edge.nulls.front().z, 5);
    targets.insert(edge.target);
  }
  EXPECT_EQ(targets, behavior.induction);
  EXPECT_EQ(result.graph.nodes()[result.hubs.front().node], behavior.most_damaging);
}

INSTANTIATE_TEST_SUITE_P(Metrics, InductionCircuit, testing::Values(Metric::kPk, Metric::kCs),
                         [](const auto& param_info) { return std::string(headscope::info(param_info.param).name); });

}  // namespace
}  // namespace headscope
