#include "headscope/relate/component_graph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "headscope/relate/mib_graph.h"
#include "support/tiny_llama.h"

namespace headscope {
namespace {

constexpr ComponentChoice kAll = {.mlp = true, .embedding = true, .position = true, .unembedding = true};

TEST(Component, HasANameAndAPlace) {
  const ComponentId embedding(ComponentKind::kEmbedding);
  const ComponentId position(ComponentKind::kPosition);
  const ComponentId head = HeadId{4, 7, false};
  const ComponentId kv = HeadId{4, 1, true};
  const ComponentId mlp(ComponentKind::kMlp, 4);
  const ComponentId unembedding(ComponentKind::kUnembedding);
  const std::vector<ComponentId> order = {embedding, position, head, kv, mlp, HeadId{5, 0, false}, unembedding};
  EXPECT_TRUE(std::ranges::is_sorted(order));
  std::string names;
  for (const ComponentId& id : order) names += to_string(id) + " ";
  EXPECT_EQ(names, "E P L4H7 L4KV1 L4M L5H0 U ");
  for (const std::string name : {"E", "P", "U", "L4H7", "L4KV1", "L4R", "L4M", "L4M12"}) {
    const auto parsed = parse_component(name);
    ASSERT_TRUE(parsed) << name;
    EXPECT_EQ(to_string(*parsed), name);
  }
  for (const std::string name : {"", "L", "L4", "LM", "M4", "L4X", "L4Mx", "L4M1x", "L4R1", "L-1M", "UU"}) {
    EXPECT_FALSE(parse_component(name)) << name;
  }
  EXPECT_TRUE(precedes(embedding, head, false));
  EXPECT_TRUE(precedes(head, mlp, false));
  EXPECT_FALSE(precedes(head, mlp, true));
  EXPECT_FALSE(precedes(mlp, kv, false));
  EXPECT_FALSE(precedes(mlp, mlp, false));
  EXPECT_FALSE(precedes(head, kv, false));
  EXPECT_TRUE(precedes(mlp, unembedding, true));
}

class ComponentGraphTest : public testing::Test {
 protected:
  ComponentGraphTest() { llama_.write(folder_); }

  test::TinyLlama llama_;
  test::TemporaryFolder folder_;
};

TEST_F(ComponentGraphTest, JudgesEveryPairUnderARandomRotation) {
  const Model model = Model::open(folder_.path());
  RelateOptions options;
  options.top = 1000;
  const ComponentGraph found = relate_components(model, kAll, options, {});
  std::size_t pairs = 0;
  for (const ComponentScores& scores : found.overlaps.scores) {
    pairs += static_cast<std::size_t>(
        std::ranges::count_if(scores.overlap.values(), [](float value) { return !std::isnan(value); }));
  }
  EXPECT_EQ(found.edges.size(), pairs);
  EXPECT_EQ(found.wiring.back().pairs, pairs);
  // From L0M to U: mean 1 / d and the variance of METHODS 3, from the two densities as matrices.
  const auto edge = std::ranges::find_if(
      found.edges, [](const ComponentEdge& one) { return one.pair == "MU" && to_string(one.source) == "L0M"; });
  ASSERT_NE(edge, found.edges.end());
  const auto square = [&](char letter, bool reads) {
    for (const ComponentSide& side : reads ? found.overlaps.targets : found.overlaps.sources) {
      if (side.letter == letter) return side.moments.front().trace_of_square;
    }
    return 0.0;
  };
  const double d = 16;
  const double variance = 2 / ((d - 1) * (d + 2)) * (square('M', false) - 1 / d) * (square('U', true) - 1 / d);
  EXPECT_NEAR(edge->isotropic.z, (static_cast<double>(edge->overlap) / d - 1 / d) / std::sqrt(variance), 1e-6);
  EXPECT_EQ(edge->beyond_chance, edge->q <= 0.05);
}

TEST_F(ComponentGraphTest, RanksEdgesWithinTheirPair) {
  const ComponentGraph found = relate_components(Model::open(folder_.path()), kAll, {}, {});
  std::string pair;
  std::size_t rank = 0;
  for (const ComponentEdge& edge : found.edges) {
    rank = edge.pair == pair ? rank + 1 : 1;
    pair = edge.pair;
    EXPECT_EQ(edge.rank, rank);
    EXPECT_LE(edge.rank, 20U);
  }
  EXPECT_EQ(found.graph.edges().size(), found.edges.size());
  EXPECT_EQ(found.graph.nodes().size(), 2 * (4 + 2 + 1) + 2U);
  EXPECT_EQ(found.hubs.size(), found.graph.nodes().size());
  // Nothing that is alone in its layer can have more links than its layer explains.
  for (const Hub& hub : found.hubs) {
    if (!found.graph.nodes()[hub.node].is_head()) {
      EXPECT_EQ(hub.p_family, 1);
    }
  }
}

TEST_F(ComponentGraphTest, BecomesACircuitOfTheBenchmark) {
  const Model model = Model::open(folder_.path());
  const ComponentGraph found = relate_components(model, kAll, {}, {});
  const auto circuit = nlohmann::json::parse(to_mib_json(found, model.info().sizes).value());
  EXPECT_EQ(circuit["cfg"],
            nlohmann::json({{"n_layers", 2}, {"n_heads", 4}, {"parallel_attn_mlp", false}, {"d_model", 16}}));
  // The edges of a model without grouped queries: everything to everything that comes later.
  std::vector<std::string> stream = {"input"};
  std::set<std::string> edges;
  std::set<std::string> nodes = {"input", "logits"};
  for (const std::size_t layer : {0U, 1U}) {
    std::vector<std::string> heads;
    for (const std::size_t head : {0U, 1U, 2U, 3U}) heads.push_back(fmt::format("a{}.h{}", layer, head));
    for (const std::string& from : stream) {
      for (const std::string& to : heads) {
        for (const char* role : {"<q>", "<k>", "<v>"}) edges.insert(fmt::format("{}->{}{}", from, to, role));
      }
    }
    stream.insert(stream.end(), heads.begin(), heads.end());
    for (const std::string& from : stream) edges.insert(fmt::format("{}->m{}", from, layer));
    stream.push_back(fmt::format("m{}", layer));
  }
  for (const std::string& from : stream) edges.insert(fmt::format("{}->logits", from));
  nodes.insert(stream.begin(), stream.end());
  std::set<std::string> found_edges;
  std::set<std::string> joined = {"logits"};
  for (const auto& [name, edge] : circuit["edges"].items()) {
    found_edges.insert(name);
    EXPECT_GE(edge["score"].get<double>(), 0);
    if (!edge["in_graph"].get<bool>()) continue;
    joined.insert(name.substr(0, name.find("->")));
    const std::string target = name.substr(name.find("->") + 2);
    joined.insert(target.substr(0, target.find('<')));
  }
  EXPECT_EQ(found_edges, edges);
  std::set<std::string> found_nodes;
  for (const auto& [name, node] : circuit["nodes"].items()) {
    found_nodes.insert(name);
    EXPECT_EQ(node["in_graph"].get<bool>(), joined.contains(name)) << name;
  }
  EXPECT_EQ(found_nodes, nodes);
  // Query heads 2 and 3 share KV head 1.
  EXPECT_EQ(circuit["edges"]["a0.h0->a1.h2<k>"], circuit["edges"]["a0.h0->a1.h3<k>"]);
  EXPECT_NE(circuit["edges"]["a0.h0->a1.h2<q>"], circuit["edges"]["a0.h0->a1.h3<q>"]);
}

TEST_F(ComponentGraphTest, WithoutMlpsIsNoCircuitOfTheBenchmark) {
  const Model model = Model::open(folder_.path());
  EXPECT_FALSE(to_mib_json(relate_components(model, {.embedding = true}, {}, {}), model.info().sizes));
}

}  // namespace
}  // namespace headscope
