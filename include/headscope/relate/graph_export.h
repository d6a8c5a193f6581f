#pragma once

#include <string>

#include "headscope/relate/graph_measures.h"
#include "headscope/relate/head_graph.h"
#include "headscope/relate/labels.h"

namespace headscope {

/// What the three formats write. All must outlive the call.
struct GraphToExport {
  const HeadGraph& graph;
  const GraphMeasures& measures;
  const HeadLabels* labels = nullptr;  ///< Classes are written only if there are labels.
};

// A node's id is its head's name, e.g. "L4H7". Node attributes in all formats: layer, head, kind
// ("query" or "kv"), in_degree, out_degree, in_strength, out_strength, pagerank, hub, authority,
// betweenness, and for a head in a class `classes`, their names with ';' between. Edge attributes:
// pair, score, z, weight. Parallel edges stay apart. Numbers are written so that reading them gives
// the same double. All texts are UTF-8 and depend on nothing but the arguments.

/// GraphML (http://graphml.graphdrawing.org), for networkx, igraph, yEd and Gephi.
/// \throws Error  kInvalidArgument if the measures are of another number of nodes.
[[nodiscard]] std::string to_graphml(const GraphToExport& what);

/// GEXF 1.2draft, for Gephi and networkx, of which older ones do not read 1.3. The weight is the
/// format's own, the pair also the edge's label.
/// \throws Error  as `to_graphml`.
[[nodiscard]] std::string to_gexf(const GraphToExport& what);

/// Graphviz DOT, drawn from left to right with one column a layer. Graphviz takes `weight`, cut
/// to a whole number, for how short and straight to draw the edge.
/// \throws Error  as `to_graphml`.
[[nodiscard]] std::string to_dot(const GraphToExport& what);

}  // namespace headscope
