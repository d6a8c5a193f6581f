#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headscope/model/head_id.h"

namespace headscope {

/// An affinity between two heads that is large enough to be drawn.
struct HeadEdge {
  std::size_t source = 0;  ///< Index of a node: the head of the smaller layer.
  std::size_t target = 0;
  std::string pair;   ///< Role of the source, then of the target, e.g. "OQ".
  double score = 0;   ///< The affinity itself.
  double weight = 0;  ///< What the measures weigh by, not negative; usually the score.
  double z = 0;       ///< The score under a null distribution, so that role pairs can be added.
};

/// Heads and the directed edges between them, with one metric and any number of role pairs.
///
/// Two heads may be joined by several edges, one for each role pair, and `edges`
/// keeps them all. Measures that are defined on a simple digraph work on `arcs`,
/// in which their weights are added.
class HeadGraph {
 public:
  /// An edge of the simple digraph.
  struct Arc {
    std::size_t source = 0;
    std::size_t target = 0;
    double weight = 0;
    friend bool operator==(const Arc&, const Arc&) = default;
  };

  HeadGraph() = default;

  /// `nodes` are all heads that were looked at, those without an edge included: PageRank
  /// and betweenness depend on how many there are.
  ///
  /// Cost: O((nodes + edges) log).
  ///
  /// \throws Error  kInvalidArgument if a node stands twice, if an edge names a node that
  ///                is not there, joins a head to itself, stands twice for the same role
  ///                pair or has a negative weight; kNumeric if one of its numbers is
  ///                not finite.
  HeadGraph(std::vector<HeadId> nodes, std::vector<HeadEdge> edges);

  /// In the order they were given.
  [[nodiscard]] std::span<const HeadId> nodes() const noexcept { return nodes_; }
  /// In the order they were given.
  [[nodiscard]] std::span<const HeadEdge> edges() const noexcept { return edges_; }
  /// By source, then target.
  [[nodiscard]] std::span<const Arc> arcs() const noexcept { return arcs_; }
  /// The arcs that leave `node`, by target.
  [[nodiscard]] std::span<const Arc> arcs_from(std::size_t node) const noexcept {
    return arcs().subspan(first_arc_[node], first_arc_[node + 1] - first_arc_[node]);
  }

  /// Index of a head; nothing if it is not a node.
  [[nodiscard]] std::optional<std::size_t> find(HeadId id) const noexcept;

  /// The indices of the `count` edges of largest score of every role pair, in the order of
  /// `edges`. Of equal scores, those that stand earlier in `edges` count first.
  [[nodiscard]] std::vector<std::size_t> top_edges(std::size_t count) const;

 private:
  std::vector<HeadId> nodes_;
  std::vector<HeadEdge> edges_;
  std::vector<std::size_t> by_id_;  // indices of nodes_, sorted by HeadId
  std::vector<Arc> arcs_;
  std::vector<std::size_t> first_arc_ = {0};  // nodes_.size() + 1 offsets into arcs_
};

}  // namespace headscope
