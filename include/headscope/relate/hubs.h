#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headscope/relate/graph_measures.h"
#include "headscope/relate/head_graph.h"

namespace headscope {

/// A head in the ranking, with the reason for its rank.
struct Hub {
  std::size_t node = 0;  ///< Index into HeadGraph::nodes.
  double strength = 0;   ///< out_strength + in_strength, or, after `test_hubs`, the sum over all pairs beyond chance.
  std::string reason;    ///< Human-readable; see `rank_hubs`.
  double excess = 0;     ///< See `test_hubs`.
  double p_family = 1;   ///< See `test_hubs`.
  bool significant = false;  ///< p_family <= 0.05.
};

struct HubOptions {
  /// Maximum number of partners named in a reason.
  std::size_t partners = 3;
};

/// Ranks all heads of a graph by out_strength + in_strength, largest first. Only edges that are beyond chance count.
/// Ties are broken by HeadId; heads without an edge come last.
///
/// A reason gives, per direction, the number of distinct heads, the edges of each role pair in parentheses, and the
/// partners with the largest sum of z:
///
///     writes to 9 heads (OK 8, OQ 1), most to L5H5, L6H9, L7H10; reads from 2 (OV 2): L3H7, L2H2
///
/// It says "points to" and "is pointed to by" if a source role is Q, K or V: nothing is written between those. Cost:
/// O(edges log edges).
///
/// \throws Error  kInvalidArgument if `measures` has a different number of nodes.
[[nodiscard]] std::vector<Hub> rank_hubs(const HeadGraph& graph, const GraphMeasures& measures,
                                         const HubOptions& options = {});

}  // namespace headscope
