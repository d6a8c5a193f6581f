#include "headscope/relate/head_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include "headscope/base/error.h"

namespace headscope {
namespace {

std::vector<std::size_t> count_up(std::size_t size) {
  std::vector<std::size_t> indices(size);
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  return indices;
}

std::vector<std::size_t> sort_by_id(std::span<const ComponentId> nodes) {
  std::vector<std::size_t> order = count_up(nodes.size());
  std::ranges::sort(order, {}, [&](std::size_t i) { return nodes[i]; });
  const auto twice = std::ranges::adjacent_find(order, {}, [&](std::size_t i) { return nodes[i]; });
  if (twice != order.end()) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("head graph: duplicate node {}", to_string(nodes[*twice])));
  }
  return order;
}

std::string describe(const HeadEdge& edge, std::span<const ComponentId> nodes) {
  return fmt::format("head graph: edge {} > {} ({})", to_string(nodes[edge.source]), to_string(nodes[edge.target]),
                     printable(edge.pair));
}

void check_edge(const HeadEdge& edge, std::span<const ComponentId> nodes) {
  if (edge.source >= nodes.size() || edge.target >= nodes.size()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("head graph: an edge joins nodes {} and {}, but there are {} nodes", edge.source,
                            edge.target, nodes.size()));
  }
  if (edge.source == edge.target) {
    throw Error(ErrorKind::kInvalidArgument, describe(edge, nodes) + " joins a head to itself");
  }
  for (const auto& [name, value] : {std::pair{"score", edge.score}, {"weight", edge.weight}, {"z", edge.z}}) {
    if (!std::isfinite(value)) {
      throw Error(ErrorKind::kNumeric,
                  fmt::format("{} has {} {}, expected a finite number", describe(edge, nodes), name, value));
    }
  }
  if (edge.weight < 0) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} has weight {}, expected at least 0", describe(edge, nodes), edge.weight));
  }
}

}  // namespace

HeadGraph::HeadGraph(std::vector<ComponentId> nodes, std::vector<HeadEdge> edges, Components /*tag*/)
    : nodes_(std::move(nodes)), edges_(std::move(edges)), by_id_(sort_by_id(nodes_)) {
  for (const HeadEdge& edge : edges_) check_edge(edge, nodes_);

  // Sorted by role pair within two heads, so that the sum of their weights does not depend on the order of edges.
  const auto key = [&](std::size_t i) {
    return std::tuple(edges_[i].source, edges_[i].target, std::string_view(edges_[i].pair));
  };
  std::vector<std::size_t> order = count_up(edges_.size());
  std::ranges::sort(order, {}, key);
  if (const auto twice = std::ranges::adjacent_find(order, {}, key); twice != order.end()) {
    throw Error(ErrorKind::kInvalidArgument, describe(edges_[*twice], nodes_) + " is a duplicate");
  }

  first_arc_.assign(nodes_.size() + 1, 0);
  for (const std::size_t i : order) {
    const HeadEdge& edge = edges_[i];
    if (!edge.beyond_chance) continue;
    if (!arcs_.empty() && arcs_.back().source == edge.source && arcs_.back().target == edge.target) {
      arcs_.back().weight += edge.weight;
      if (!std::isfinite(arcs_.back().weight)) {
        throw Error(ErrorKind::kNumeric, describe(edge, nodes_) + ": the weights of parallel edges add up to infinity");
      }
    } else {
      arcs_.push_back({edge.source, edge.target, edge.weight});
      ++first_arc_[edge.source + 1];
    }
  }
  std::partial_sum(first_arc_.begin(), first_arc_.end(), first_arc_.begin());
}

std::optional<std::size_t> HeadGraph::find(ComponentId id) const noexcept {
  const auto found = std::ranges::lower_bound(by_id_, id, {}, [&](std::size_t i) { return nodes_[i]; });
  if (found == by_id_.end() || nodes_[*found] != id) return std::nullopt;
  return *found;
}

std::vector<std::size_t> HeadGraph::top_edges(std::size_t count) const {
  std::map<std::string_view, std::vector<std::size_t>> by_pair;
  for (std::size_t i = 0; i < edges_.size(); ++i) by_pair[edges_[i].pair].push_back(i);
  std::vector<std::size_t> kept;
  for (auto& [pair, indices] : by_pair) {
    std::ranges::stable_sort(indices, std::ranges::greater{}, [&](std::size_t i) { return edges_[i].score; });
    indices.resize(std::min(count, indices.size()));
    kept.insert(kept.end(), indices.begin(), indices.end());
  }
  std::ranges::sort(kept);
  return kept;
}

}  // namespace headscope
