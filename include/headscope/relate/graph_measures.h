#pragma once

#include <cstddef>
#include <vector>

#include "headscope/relate/head_graph.h"

namespace headscope {

/// Measures of one head in the graph.
struct NodeMeasures {
  std::size_t in_degree = 0;   ///< Incoming edges, counting each role pair.
  std::size_t out_degree = 0;  ///< Outgoing edges, counting each role pair.
  double in_strength = 0;      ///< Sum of z over incoming edges.
  double out_strength = 0;     ///< Sum of z over outgoing edges.
  double pagerank = 0;         ///< Sums to 1 over the nodes.
  double hub = 0;              ///< Sums to 1 over the nodes, or is 0 for all.
  double authority = 0;        ///< Sums to 1 over the nodes, or is 0 for all.
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
  /// PageRank and HITS stop when the sum of absolute changes over all nodes is at most this.
  double tolerance = 1e-12;
  std::size_t max_iterations = 10'000;
};

/// Measures every head of a graph.
///
/// Degrees and strengths are computed over edges that are beyond chance; the other measures over arcs, with weights
/// w(i, j) in which parallel edges are added:
///
/// - PageRank (Page et al. 1999): x = damping * (P^T x + dangling / n) + (1 - damping) / n, with P(i, j) = w(i, j) /
///   sum_k w(i, k) and `dangling` the mass of nodes without outgoing weight.
/// - HITS (Kleinberg 1999): authority a is the leading right singular vector of w,
///   hub = w a. Power iteration on w^T w from the constant vector.
/// - Betweenness (Brandes 2001): sum over ordered pairs s, t of the share of shortest paths
///   from s to t, in arcs, that pass through a node, over (n - 1)(n - 2).
///
/// These match networkx's `pagerank`, `hits` and `betweenness_centrality` to 1e-8, with one exception. If the leading
/// singular value of w is multiple, as for two identical components, hubs and authorities are not unique, and networkx
/// returns any of them. Here they are the projection of the constant vector onto that space, which favors no component.
/// If two singular values are nearly equal, the iteration may reach its maximum before they separate: `hits_converged`
/// is then false and the values lie between the two. In a graph without weight, hub and authority are 0 everywhere.
///
/// All sums are computed in a fixed order. Cost: O(n * arcs) for betweenness, O(arcs) per iteration for the rest.
///
/// \throws Error  kInvalidArgument if damping is not in [0, 1) or the tolerance is not positive.
[[nodiscard]] GraphMeasures measure_graph(const HeadGraph& graph, const GraphMeasureOptions& options = {});

}  // namespace headscope
