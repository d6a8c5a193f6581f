// tests/golden/graph_export holds the exact texts for a tiny graph. They were read once with networkx 3.6.1
// (read_graphml, read_gexf), pydot 4.0 and Python's XML parser, and attributes were compared.
#include "headscope/relate/graph_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/expect_error.h"

namespace headscope {
namespace {

using testing::HasSubstr;
using testing::Not;

HeadGraph tiny_graph() {
  return {{{0, 3, false}, {1, 0, true}},
          {{0, 1, "OK", 12.5, 12.5, 1e-7, true, true}, {0, 1, "OV", 0.1, 0.25, -2, false}}};
}

HeadLabels tiny_labels() {
  return HeadLabels::parse(R"({"classes": {"a<b>": ["0.3"], "\"&\\": ["0.3"]}})", "labels.json");
}

// Measures that are exact in any arithmetic.
GraphMeasures tiny_measures() {
  GraphMeasures measures;
  measures.nodes.resize(2);
  measures.nodes[0] = {0, 2, 0, -2, 0.25, 1, 0, 0};
  measures.nodes[1] = {2, 0, -2, 0, 0.75, 0, 1, 0.125};
  return measures;
}

std::string golden(const char* name) {
  std::ifstream file(std::filesystem::path(HEADSCOPE_SOURCE_DIR) / "tests/golden/graph_export" / name);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(GraphExport, WritesGraphml) {
  const HeadGraph graph = tiny_graph();
  const GraphMeasures measures = tiny_measures();
  const HeadLabels labels = tiny_labels();
  EXPECT_EQ(to_graphml({graph, measures, &labels}), golden("tiny.graphml"));
}

TEST(GraphExport, WritesGexf) {
  const HeadGraph graph = tiny_graph();
  const GraphMeasures measures = tiny_measures();
  const HeadLabels labels = tiny_labels();
  EXPECT_EQ(to_gexf({graph, measures, &labels}), golden("tiny.gexf"));
}

TEST(GraphExport, WritesDot) {
  const HeadGraph graph = tiny_graph();
  const GraphMeasures measures = tiny_measures();
  const HeadLabels labels = tiny_labels();
  EXPECT_EQ(to_dot({graph, measures, &labels}), golden("tiny.dot"));
}

TEST(GraphExport, WritesNoClassesWithoutLabels) {
  const HeadGraph graph = tiny_graph();
  const GraphMeasures measures = tiny_measures();
  EXPECT_THAT(to_graphml({graph, measures}), Not(HasSubstr("key=\"n11\"")));
  EXPECT_THAT(to_gexf({graph, measures}), Not(HasSubstr("for=\"11\"")));
  EXPECT_THAT(to_dot({graph, measures}), Not(HasSubstr("classes")));
}

TEST(GraphExport, EscapesWhateverAPairHolds) {
  const HeadGraph graph({{0, 0, false}, {1, 0, false}}, {{0, 1, "<&>\"'\t\n\x01\xEF\xBF\xBE\xC3\xA9\\", 1, 1, 1}});
  const GraphMeasures measures = measure_graph(graph);
  const std::string escaped = "&lt;&amp;&gt;&quot;'&#9;&#10;\xEF\xBF\xBD\xEF\xBF\xBD\xC3\xA9\\";
  EXPECT_THAT(to_graphml({graph, measures}), HasSubstr("<data key=\"e0\">" + escaped + "</data>"));
  EXPECT_THAT(to_gexf({graph, measures}), HasSubstr("label=\"" + escaped + "\""));
  EXPECT_THAT(to_dot({graph, measures}), HasSubstr("pair=\"<&>\\\"' \\n \xEF\xBF\xBE\xC3\xA9\\\\\""));
}

TEST(GraphExport, WritesGraphsWithoutNodes) {
  const HeadGraph graph;
  const GraphMeasures measures;
  EXPECT_THAT(to_graphml({graph, measures}), HasSubstr("<graph id=\"heads\" edgedefault=\"directed\">\n  </graph>"));
  EXPECT_THAT(to_gexf({graph, measures}), HasSubstr("<nodes>\n    </nodes>\n    <edges>\n    </edges>"));
  EXPECT_EQ(to_dot({graph, measures}), "digraph heads {\n  rankdir=LR;\n  node [shape=box];\n}\n");
}

TEST(GraphExport, RefusesForeignMeasures) {
  const HeadGraph graph = tiny_graph();
  const GraphMeasures measures;
  EXPECT_ERROR(to_graphml({graph, measures}), ErrorKind::kInvalidArgument, "has 2 nodes, the measures are of 0");
  EXPECT_ERROR(to_gexf({graph, measures}), ErrorKind::kInvalidArgument, "has 2 nodes, the measures are of 0");
  EXPECT_ERROR(to_dot({graph, measures}), ErrorKind::kInvalidArgument, "has 2 nodes, the measures are of 0");
}

}  // namespace
}  // namespace headscope
