#include "headscope/relate/head_graph.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "support/expect_error.h"

namespace headscope {
namespace {

const std::vector<HeadId> kNodes = {{0, 0, false}, {0, 1, false}, {1, 0, false}, {1, 0, true}, {2, 5, false}};

TEST(HeadGraph, KeepsParallelEdgesAndAddsTheirWeightsInTheArcs) {
  const HeadGraph graph(
      kNodes, {{2, 4, "OQ", 9, 9, 3}, {0, 2, "OV", 2, 0.5, 1}, {0, 4, "OQ", 3, 3, 1}, {0, 2, "OK", 5, 0.25, 2}});
  ASSERT_EQ(graph.edges().size(), 4u);
  EXPECT_EQ(graph.edges()[0].pair, "OQ");
  EXPECT_EQ(graph.edges()[3].score, 5);
  const std::vector<HeadGraph::Arc> expected = {{0, 2, 0.75}, {0, 4, 3}, {2, 4, 9}};
  EXPECT_EQ(std::vector(graph.arcs().begin(), graph.arcs().end()), expected);
  EXPECT_EQ(graph.arcs_from(0).size(), 2u);
  EXPECT_EQ(graph.arcs_from(1).size(), 0u);
  EXPECT_EQ(graph.arcs_from(2).front(), (HeadGraph::Arc{2, 4, 9}));
  EXPECT_EQ(graph.arcs_from(4).size(), 0u);
}

TEST(HeadGraph, HasTheSameArcsForEveryOrderOfTheEdges) {
  // 0.1 + 0.2 + 0.3 differs from 0.3 + 0.2 + 0.1 in the last bit.
  const HeadGraph one(kNodes, {{0, 2, "OK", 1, 0.1, 0}, {0, 2, "OQ", 1, 0.2, 0}, {0, 2, "OV", 1, 0.3, 0}});
  const HeadGraph other(kNodes, {{0, 2, "OV", 1, 0.3, 0}, {0, 2, "OQ", 1, 0.2, 0}, {0, 2, "OK", 1, 0.1, 0}});
  EXPECT_EQ(one.arcs().front(), other.arcs().front());
}

TEST(HeadGraph, FindsANodeByItsHead) {
  const HeadGraph graph(kNodes, {});
  for (std::size_t i = 0; i < kNodes.size(); ++i) EXPECT_EQ(graph.find(kNodes[i]), i);
  EXPECT_EQ(graph.find(HeadId{0, 0, true}), std::nullopt);
  EXPECT_EQ(graph.find(HeadId{9, 0, false}), std::nullopt);
}

TEST(HeadGraph, IsEmptyByDefault) {
  const HeadGraph graph;
  EXPECT_TRUE(graph.nodes().empty());
  EXPECT_TRUE(graph.arcs().empty());
  EXPECT_EQ(graph.find(HeadId{0, 0, false}), std::nullopt);
  EXPECT_TRUE(HeadGraph({}, {}).edges().empty());
}

TEST(HeadGraph, TakesTheTopEdgesOfEveryRolePair) {
  const HeadGraph graph(kNodes, {{0, 2, "OK", 5, 1, 0},
                                 {0, 4, "OK", 7, 1, 0},
                                 {1, 2, "OK", 7, 1, 0},
                                 {1, 4, "OK", 7, 1, 0},
                                 {2, 4, "OQ", 1, 1, 0}});
  EXPECT_EQ(graph.top_edges(2), (std::vector<std::size_t>{1, 2, 4}));
  EXPECT_EQ(graph.top_edges(0), std::vector<std::size_t>{});
  EXPECT_EQ(graph.top_edges(100), (std::vector<std::size_t>{0, 1, 2, 3, 4}));
}

TEST(HeadGraph, RefusesWhatIsNotAGraph) {
  const auto graph = [](std::vector<HeadEdge> edges) { return HeadGraph(kNodes, std::move(edges)); };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kMax = std::numeric_limits<double>::max();
  const auto kInvalid = ErrorKind::kInvalidArgument;
  EXPECT_ERROR(graph({{0, 5, "OQ", 1, 1, 1}}), kInvalid, "joins nodes 0 and 5, but there are 5");
  EXPECT_ERROR(graph({{2, 2, "OQ", 1, 1, 1}}), kInvalid, "edge L1H0 > L1H0 (OQ) joins a head to itself");
  EXPECT_ERROR(graph({{0, 3, "OK", 1, -1, 1}}), kInvalid, "edge L0H0 > L1KV0 (OK) has weight -1");
  EXPECT_ERROR(graph({{0, 2, "OK", 1, 1, 1}, {0, 2, "OK", 2, 2, 2}}), kInvalid, "edge L0H0 > L1H0 (OK) is a duplicate");
  EXPECT_ERROR(graph({{0, 2, "OK", kNan, 1, 1}}), ErrorKind::kNumeric, "has score nan");
  EXPECT_ERROR(graph({{0, 2, "OK", 1, kInfinity, 1}}), ErrorKind::kNumeric, "has weight inf");
  EXPECT_ERROR(graph({{0, 2, "O\n", 1, 1, -kInfinity}}), ErrorKind::kNumeric, "(O\\x0a) has z -inf");
  EXPECT_ERROR(graph({{0, 2, "OK", 1, kMax, 1}, {0, 2, "OQ", 1, kMax, 1}}), ErrorKind::kNumeric, "add up to infinity");
  EXPECT_ERROR(HeadGraph({{1, 1, false}, {0, 0, false}, {1, 1, false}}, {}), kInvalid, "duplicate node L1H1");
}

}  // namespace
}  // namespace headscope
