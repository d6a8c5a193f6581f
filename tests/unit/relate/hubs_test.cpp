#include "headscope/relate/hubs.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/expect_error.h"
#include "support/pk_edges.h"

namespace headscope {
namespace {

std::vector<Hub> rank(const HeadGraph& graph, const HubOptions& options = {}) {
  return rank_hubs(graph, measure_graph(graph), options);
}

std::string names(const HeadGraph& graph, const std::vector<Hub>& hubs) {
  std::string text;
  for (const Hub& hub : hubs) text += (text.empty() ? "" : " ") + to_string(graph.nodes()[hub.node]);
  return text;
}

const std::vector<HeadId> kNodes = {{3, 0, false}, {0, 0, false}, {0, 1, false}, {1, 0, false}, {2, 0, false}};

TEST(Hubs, ExplainsWhyAHeadIsOne) {
  const HeadGraph graph(kNodes, {{1, 3, "OV", 1, 1, 2},
                                 {2, 3, "OV", 1, 1, 4},
                                 {3, 4, "OK", 1, 1, 3},
                                 {3, 4, "OQ", 1, 1, 3},
                                 {3, 0, "OK", 1, 1, 5}});
  const std::vector<Hub> hubs = rank(graph);
  EXPECT_EQ(names(graph, hubs), "L1H0 L2H0 L3H0 L0H1 L0H0");
  EXPECT_EQ(hubs[0].strength, 17);
  EXPECT_EQ(hubs[0].reason, "writes to 2 heads (OK 2, OQ 1): L2H0, L3H0; reads from 2 (OV 2): L0H1, L0H0");
  EXPECT_EQ(hubs[1].reason, "reads from 1 head (OK 1, OQ 1): L1H0");
  EXPECT_EQ(hubs[3].reason, "writes to 1 head (OV 1): L1H0");

  HubOptions one;
  one.partners = 1;
  EXPECT_EQ(rank(graph, one)[0].reason,
            "writes to 2 heads (OK 2, OQ 1), most to L2H0; reads from 2 (OV 2), most from L0H1");
  HubOptions none;
  none.partners = 0;
  EXPECT_EQ(rank(graph, none)[0].reason, "writes to 2 heads (OK 2, OQ 1); reads from 2 (OV 2)");
}

TEST(Hubs, OrdersEqualsByHeadAndLeavesHeadsWithoutAnEdgeForLast) {
  const HeadGraph graph(kNodes, {{1, 4, "OQ", 1, 1, -2}, {2, 4, "OQ", 1, 1, -2}});
  const std::vector<Hub> hubs = rank(graph);
  EXPECT_EQ(names(graph, hubs), "L0H0 L0H1 L2H0 L1H0 L3H0");
  EXPECT_EQ(hubs[3].strength, 0);
  EXPECT_EQ(hubs[3].reason, "has no kept edge beyond chance");
}

TEST(Hubs, SpeaksOfWritingOnlyWhereAnOutputIsTheSource) {
  const HeadGraph graph(kNodes, {{1, 3, "QK", 1, 1, 1}, {2, 3, "OK", 1, 1, 2}, {3, 4, "KK", 1, 1, 3}});
  EXPECT_EQ(rank(graph)[0].reason, "points to 1 head (KK 1): L2H0; is pointed to by 2 (OK 1, QK 1): L0H1, L0H0");
  HubOptions one;
  one.partners = 1;
  EXPECT_EQ(rank(graph, one)[0].reason, "points to 1 head (KK 1): L2H0; is pointed to by 2 (OK 1, QK 1), most by L0H1");
}

TEST(Hubs, FindsThePublishedHubOfGpt2Small) {
  const HeadGraph graph = test::pk_graph();
  const GraphMeasures measures = measure_graph(graph);
  const Hub hub = rank_hubs(graph, measures).front();
  EXPECT_EQ(to_string(graph.nodes()[hub.node]), "L4H7");
  EXPECT_EQ(measures.nodes[hub.node].in_degree, 5u);
  EXPECT_EQ(measures.nodes[hub.node].out_degree, 14u);
  // 5.1 and 7.2 are reached by two role pairs.
  EXPECT_EQ(hub.reason,
            "writes to 12 heads (OK 8, OQ 4, OV 2), most to L5H1, L7H2, L5H0; "
            "reads from 5 (OV 5), most from L1H0, L1H11, L2H2");
}

TEST(Hubs, RanksNothingInAnEmptyGraphAndRefusesForeignMeasures) {
  EXPECT_TRUE(rank(HeadGraph()).empty());
  EXPECT_ERROR(rank_hubs(HeadGraph(kNodes, {}), GraphMeasures()), ErrorKind::kInvalidArgument,
               "the graph has 5 nodes, the measures are of 0");
}

}  // namespace
}  // namespace headscope
