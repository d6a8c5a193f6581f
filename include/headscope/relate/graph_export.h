#pragma once

#include <string>

#include "headscope/relate/graph_measures.h"
#include "headscope/relate/head_graph.h"
#include "headscope/relate/labels.h"

namespace headscope {

/// Input of the three exporters. The referenced objects must outlive the call.
struct GraphToExport {
  const HeadGraph& graph;
  const GraphMeasures& measures;
  const HeadLabels* labels = nullptr;  ///< Classes are written only if there are labels.
};

// A node's id is its component's name, e.g. "L4H7" or "L4M". Node attributes in all formats: layer (of components that
// are in one), head (of heads), kind ("query", "kv", "mlp", "embedding", "position" or "unembedding"), in_degree,
// out_degree, in_strength, out_strength, pagerank, hub, authority, betweenness, and for labeled heads `classes`, the
// class names joined by ';'. Edge attributes: pair, score, z, beyond_chance, stands_out, weight. Parallel edges are
// kept separate. Numbers round-trip exactly. All output is UTF-8 and depends only on the arguments.

/// GraphML (http://graphml.graphdrawing.org), for networkx, igraph, yEd and Gephi.
/// \throws Error  kInvalidArgument if `measures` has a different number of nodes.
[[nodiscard]] std::string to_graphml(const GraphToExport& what);

/// GEXF 1.2draft, for Gephi and networkx (older versions of networkx do not read 1.3). The weight uses the format's own
/// attribute; the pair is also the edge label.
/// \throws Error  as `to_graphml`.
[[nodiscard]] std::string to_gexf(const GraphToExport& what);

/// Graphviz DOT, drawn left to right with one column per layer. Edges that are not beyond chance are gray and dashed.
/// Graphviz truncates `weight` to an integer and uses it to decide how short and straight to draw the edge. \throws
/// Error  as `to_graphml`.
[[nodiscard]] std::string to_dot(const GraphToExport& what);

}  // namespace headscope
