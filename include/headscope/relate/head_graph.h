#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headscope/model/head_id.h"
#include "headscope/relate/component.h"

namespace headscope {

/// An affinity between two heads, or other components, that is large enough to be an edge.
struct HeadEdge {
  std::size_t source = 0;  ///< Node index of the component that comes first.
  std::size_t target = 0;
  std::string pair;           ///< Role of the source, then of the target, e.g. "OQ".
  double score = 0;           ///< The affinity itself.
  double weight = 0;          ///< Weight used by the measures, nonnegative; usually the score.
  double z = 0;               ///< The score under a null distribution, comparable across role pairs.
  bool beyond_chance = true;  ///< Edges that are not have no weight in the measures and are drawn faint.
  bool stands_out = false;
};

/// Heads, on request other components too, and the directed edges between them, with one metric and any number of role
/// pairs.
///
/// Two heads may be joined by several edges, one per role pair; `edges` has them all. Measures defined on a simple
/// digraph use `arcs`, in which the weights of parallel edges are added. Edges that are not beyond chance are no arcs.
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

  /// `nodes` must contain all heads that were analyzed, including those without an edge: PageRank and betweenness
  /// depend on their number.
  ///
  /// Cost: O((nodes + edges) log).
  ///
  /// \throws Error  kInvalidArgument if there are duplicate nodes, or an edge refers to a missing node, joins a head to
  ///                itself, duplicates an edge of the same role pair or has a negative weight; kNumeric if one of its
  ///                numbers is not finite, or the weights of parallel edges overflow.
  HeadGraph(std::vector<HeadId> nodes, std::vector<HeadEdge> edges)
      : HeadGraph(std::vector<ComponentId>(nodes.begin(), nodes.end()), std::move(edges), Components()) {}
  /// The same with components as nodes. \throws Error  as the constructor.
  [[nodiscard]] static HeadGraph of_components(std::vector<ComponentId> nodes, std::vector<HeadEdge> edges) {
    return {std::move(nodes), std::move(edges), Components()};
  }

  /// In the order passed to the constructor.
  [[nodiscard]] std::span<const ComponentId> nodes() const noexcept { return nodes_; }
  /// In the order passed to the constructor.
  [[nodiscard]] std::span<const HeadEdge> edges() const noexcept { return edges_; }
  /// Sorted by source, then target.
  [[nodiscard]] std::span<const Arc> arcs() const noexcept { return arcs_; }
  /// The arcs that leave `node`, sorted by target.
  [[nodiscard]] std::span<const Arc> arcs_from(std::size_t node) const noexcept {
    return arcs().subspan(first_arc_[node], first_arc_[node + 1] - first_arc_[node]);
  }

  /// Returns the index of a component, or nothing if it is not a node.
  [[nodiscard]] std::optional<std::size_t> find(ComponentId id) const noexcept;

  /// Returns the indices of the `count` highest-scoring edges of each role pair, in the order of `edges`. Ties go to
  /// earlier edges.
  [[nodiscard]] std::vector<std::size_t> top_edges(std::size_t count) const;

 private:
  struct Components {};
  HeadGraph(std::vector<ComponentId> nodes, std::vector<HeadEdge> edges, Components tag);

  std::vector<ComponentId> nodes_;
  std::vector<HeadEdge> edges_;
  std::vector<std::size_t> by_id_;  // indices of nodes_, sorted by ComponentId
  std::vector<Arc> arcs_;
  std::vector<std::size_t> first_arc_ = {0};  // nodes_.size() + 1 offsets into arcs_
};

}  // namespace headscope
