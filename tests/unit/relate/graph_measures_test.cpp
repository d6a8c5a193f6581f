// The golden graphs are networkx's; tests/golden/make_graphs.py makes them.
#include "headscope/relate/graph_measures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "headscope/io/json.h"
#include "support/expect_error.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

std::vector<HeadId> one_layer(std::size_t count) {
  std::vector<HeadId> nodes;
  for (std::size_t i = 0; i < count; ++i) nodes.push_back({0, i, false});
  return nodes;
}

HeadEdge edge(std::size_t source, std::size_t target, double weight) {
  return {source, target, "OQ", weight, weight, weight};
}

class GoldenGraph : public testing::TestWithParam<fs::path> {
 protected:
  GoldenGraph() : document_(JsonDocument::open(GetParam())), measures_(measure_graph(read_graph())) {}

  void expect_equal(const char* name, double (*value)(const NodeMeasures&)) {
    std::size_t i = 0;
    for (const JsonValue expected : document_.root().find(name).items()) {
      ASSERT_LT(i, measures_.nodes.size());
      EXPECT_NEAR(value(measures_.nodes[i]), expected.as_number().value(), 1e-8) << name << " of node " << i;
      ++i;
    }
    EXPECT_EQ(i, measures_.nodes.size()) << name;
  }

  [[nodiscard]] HeadGraph read_graph() const {
    std::vector<HeadId> nodes;
    for (const JsonValue node : document_.root().find("nodes").items()) {
      const std::vector<double> numbers = read_numbers(node);
      nodes.push_back({static_cast<std::size_t>(numbers[0]), static_cast<std::size_t>(numbers[1]), false});
    }
    std::vector<HeadEdge> edges;
    for (const JsonValue each : document_.root().find("edges").items()) {
      const std::vector<double> n = read_numbers(each);
      edges.push_back(
          {static_cast<std::size_t>(n[0]), static_cast<std::size_t>(n[1]), read_pair(each), n[2], n[3], n[4]});
    }
    return {std::move(nodes), std::move(edges)};
  }

  JsonDocument document_;
  GraphMeasures measures_;

 private:
  static std::vector<double> read_numbers(JsonValue list) {
    std::vector<double> numbers;
    for (const JsonValue item : list.items()) {
      if (item.as_number()) numbers.push_back(*item.as_number());
    }
    return numbers;
  }
  static std::string read_pair(JsonValue list) {
    for (const JsonValue item : list.items()) {
      if (item.as_string()) return std::string(*item.as_string());
    }
    return "";
  }
};

TEST_P(GoldenGraph, MeasuresAsNetworkxDoes) {
  EXPECT_TRUE(measures_.pagerank_converged);
  EXPECT_TRUE(measures_.hits_converged);
  expect_equal("in_degree", [](const NodeMeasures& m) { return static_cast<double>(m.in_degree); });
  expect_equal("out_degree", [](const NodeMeasures& m) { return static_cast<double>(m.out_degree); });
  expect_equal("in_strength", [](const NodeMeasures& m) { return m.in_strength; });
  expect_equal("out_strength", [](const NodeMeasures& m) { return m.out_strength; });
  expect_equal("pagerank", [](const NodeMeasures& m) { return m.pagerank; });
  expect_equal("hub", [](const NodeMeasures& m) { return m.hub; });
  expect_equal("authority", [](const NodeMeasures& m) { return m.authority; });
  expect_equal("betweenness", [](const NodeMeasures& m) { return m.betweenness; });
}

TEST_P(GoldenGraph, MeasuresTheSameWhateverTheUnitOfTheWeights) {
  const HeadGraph graph = read_graph();
  std::vector<HeadEdge> edges(graph.edges().begin(), graph.edges().end());
  for (HeadEdge& each : edges) each.weight *= 0x1p900;  // squares would leave the range of a double
  const GraphMeasures scaled =
      measure_graph(HeadGraph::of_components({graph.nodes().begin(), graph.nodes().end()}, edges));
  for (std::size_t i = 0; i < scaled.nodes.size(); ++i) {
    EXPECT_EQ(scaled.nodes[i].pagerank, measures_.nodes[i].pagerank);
    EXPECT_EQ(scaled.nodes[i].hub, measures_.nodes[i].hub);
    EXPECT_EQ(scaled.nodes[i].authority, measures_.nodes[i].authority);
  }
}

std::vector<fs::path> golden_files() {
  const fs::path folder = fs::path(HEADSCOPE_SOURCE_DIR) / "tests/golden/graphs";
  std::vector<fs::path> files{fs::directory_iterator(folder), {}};
  std::ranges::sort(files);
  return files;
}

INSTANTIATE_TEST_SUITE_P(Networkx, GoldenGraph, testing::ValuesIn(golden_files()),
                         [](const auto& file) { return file.param.stem().string(); });

TEST(GraphMeasures, GivesEveryNodeTheSameRankWithoutEdges) {
  const GraphMeasures measures = measure_graph(HeadGraph(one_layer(4), {}));
  ASSERT_EQ(measures.nodes.size(), 4u);
  EXPECT_TRUE(measures.pagerank_converged && measures.hits_converged);
  for (const NodeMeasures& node : measures.nodes) {
    EXPECT_DOUBLE_EQ(node.pagerank, 0.25);
    EXPECT_EQ(node.hub, 0);
    EXPECT_EQ(node.authority, 0);
    EXPECT_EQ(node.betweenness, 0);
  }
}

TEST(GraphMeasures, MeasuresGraphsOfNoOneAndTwoNodes) {
  EXPECT_TRUE(measure_graph(HeadGraph()).nodes.empty());
  EXPECT_DOUBLE_EQ(measure_graph(HeadGraph(one_layer(1), {})).nodes[0].pagerank, 1);
  const GraphMeasures two = measure_graph(HeadGraph(one_layer(2), {edge(0, 1, 3)}));
  EXPECT_EQ(two.nodes[0].hub, 1);
  EXPECT_EQ(two.nodes[1].authority, 1);
  EXPECT_EQ(two.nodes[0].betweenness, 0);
}

TEST(GraphMeasures, TreatsWeightsOfZeroAsNoWeightButAsAPath) {
  const GraphMeasures measures = measure_graph(HeadGraph(one_layer(3), {edge(0, 1, 0), edge(1, 2, 0)}));
  for (const NodeMeasures& node : measures.nodes) {
    EXPECT_DOUBLE_EQ(node.pagerank, 1.0 / 3);
    EXPECT_EQ(node.hub, 0);
  }
  EXPECT_EQ(measures.nodes[1].betweenness, 0.5);
}

TEST(GraphMeasures, FavorsNoneOfTwoComponentsThatAreAlike) {
  // The leading singular value is double; networkx answers with any vector of a plane.
  const GraphMeasures measures =
      measure_graph(HeadGraph(one_layer(6), {edge(0, 1, 2), edge(0, 2, 2), edge(3, 4, 2), edge(3, 5, 2)}));
  EXPECT_TRUE(measures.hits_converged);
  for (const std::size_t i : {0u, 3u}) EXPECT_DOUBLE_EQ(measures.nodes[i].hub, 0.5);
  for (const std::size_t i : {1u, 2u, 4u, 5u}) EXPECT_DOUBLE_EQ(measures.nodes[i].authority, 0.25);
}

TEST(GraphMeasures, SaysThatItDidNotConverge) {
  // Singular values 1 and 1 - 1e-7 would need some hundred million steps.
  const HeadGraph graph(one_layer(4), {edge(0, 1, 1), edge(2, 3, 1 - 1e-7)});
  const GraphMeasures close = measure_graph(graph);
  EXPECT_FALSE(close.hits_converged);
  EXPECT_TRUE(close.pagerank_converged);
  EXPECT_GT(close.nodes[1].authority, close.nodes[3].authority);
  GraphMeasureOptions one_step;
  one_step.max_iterations = 1;
  EXPECT_FALSE(measure_graph(graph, one_step).pagerank_converged);
}

TEST(GraphMeasures, RefusesSenselessOptions) {
  GraphMeasureOptions options;
  options.damping = 1;
  EXPECT_ERROR(measure_graph(HeadGraph(), options), ErrorKind::kInvalidArgument, "damping is 1");
  options = {};
  options.tolerance = 0;
  EXPECT_ERROR(measure_graph(HeadGraph(), options), ErrorKind::kInvalidArgument, "tolerance is 0");
}

}  // namespace
}  // namespace headscope
