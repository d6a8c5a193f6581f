#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headscope/relate/graph_measures.h"
#include "headscope/relate/head_graph.h"

namespace headscope {

/// A head and why it stands where it does in the ranking.
struct Hub {
  std::size_t node = 0;  ///< Index into HeadGraph::nodes.
  double strength = 0;   ///< out_strength + in_strength.
  std::string reason;    ///< For people; see `rank_hubs`.
};

struct HubOptions {
  /// How many of a head's partners a reason names.
  std::size_t partners = 3;
};

/// All heads of a graph by out_strength + in_strength, largest first; equal ones by
/// HeadId; heads without an edge last.
///
/// A reason counts, for each direction, distinct heads and in brackets the edges of every
/// role pair, and names the partners with the largest sum of z:
///
///     writes to 9 heads (OK 8, OQ 1), most to L5H5, L6H9, L7H10; reads from 2 (OV 2): L3H7, L2H2
///
/// It says "points to" and "is pointed to by" where a source role is not O: between Q, K
/// and V nothing is written. Cost: O(edges log edges).
///
/// \throws Error  kInvalidArgument if `measures` is of another number of nodes.
[[nodiscard]] std::vector<Hub> rank_hubs(const HeadGraph& graph, const GraphMeasures& measures,
                                         const HubOptions& options = {});

}  // namespace headscope
