#pragma once

#include <cstddef>
#include <vector>

#include "headscope/relate/head_graph.h"

namespace headscope {

/// What the graph says about one head.
struct NodeMeasures {
  std::size_t in_degree = 0;   ///< Edges that end here, each role pair counted.
  std::size_t out_degree = 0;  ///< Edges that begin here, each role pair counted.
  double in_strength = 0;      ///< Sum of z over the edges that end here.
  double out_strength = 0;     ///< Sum of z over the edges that begin here.
  double pagerank = 0;         ///< Sums to 1 over the nodes.
  double hub = 0;              ///< Sums to 1 over the nodes, or is 0 for all of them.
  double authority = 0;        ///< Sums to 1 over the nodes, or is 0 for all of them.
  double betweenness = 0;      ///< In [0, 1].
};

struct GraphMeasures {
  std::vector<NodeMeasures> nodes;  ///< In the order of HeadGraph::nodes.
  bool pagerank_converged = true;
  bool hits_converged = true;
};

struct GraphMeasureOptions {
  /// PageRank's probability of following an arc rather than jumping anywhere.
  double damping = 0.85;
  /// PageRank and HITS stop when the values of all nodes together change by no more than this.
  double tolerance = 1e-12;
  std::size_t max_iterations = 10'000;
};

/// Measures every head of a graph.
///
/// Degrees and strengths run over the edges; the others over the arcs, with
/// weights w(i, j) in which parallel edges are added:
///
/// - PageRank (Page et al. 1999): x = damping * (P^T x + dangling / n) + (1 - damping) / n, with
///   P(i, j) = w(i, j) / sum_k w(i, k) and `dangling` the mass of nodes no weight leaves.
/// - HITS (Kleinberg 1999): authority a is the leading right singular vector of w,
///   hub = w a. Power iteration on w^T w from the constant vector.
/// - Betweenness (Brandes 2001): sum over ordered pairs s, t of the share of shortest paths
///   from s to t, in arcs, that pass through a node, over (n - 1)(n - 2).
///
/// These are networkx's `pagerank`, `hits` and `betweenness_centrality`, to 1e-8, with one
/// exception. Where the leading singular value of w is multiple, as for two components that
/// are alike, hubs and authorities are not unique, and networkx picks any. Here they are the
/// projection of the constant vector on that space, which favors no component. Where
/// two singular values nearly agree, the iteration can reach its maximum before they are
/// told apart: `hits_converged` is then false and the values lie between the two. A graph
/// without weight has hub and authority 0 everywhere.
///
/// All sums run in a fixed order. Cost: O(n * arcs) for betweenness, O(arcs) an iteration for the rest.
///
/// \throws Error  kInvalidArgument if damping is not in [0, 1) or the tolerance is not positive.
[[nodiscard]] GraphMeasures measure_graph(const HeadGraph& graph, const GraphMeasureOptions& options = {});

}  // namespace headscope
