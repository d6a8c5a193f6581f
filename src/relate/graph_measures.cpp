#include "headscope/relate/graph_measures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "headscope/base/error.h"

namespace headscope {
namespace {

using Arc = HeadGraph::Arc;

struct Iterated {
  std::vector<double> values;
  bool converged = false;
};

double total(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double change(std::span<const double> before, std::span<const double> after) {
  double sum = 0;
  for (std::size_t i = 0; i < before.size(); ++i) sum += std::abs(after[i] - before[i]);
  return sum;
}

// Divides by the sum, unless that is zero.
void normalize(std::span<double> values) {
  const double sum = total(values);
  if (sum == 0) return;
  for (double& value : values) value /= sum;
}

void count_edges(const HeadGraph& graph, std::vector<NodeMeasures>& nodes) {
  for (const HeadEdge& edge : graph.edges()) {
    if (!edge.beyond_chance) continue;
    ++nodes[edge.source].out_degree;
    ++nodes[edge.target].in_degree;
    nodes[edge.source].out_strength += edge.z;
    nodes[edge.target].in_strength += edge.z;
  }
}

// Returns the arcs with weights scaled to at most 1. No measure depends on the unit, and squares of the original
// weights may overflow.
std::vector<Arc> scaled_arcs(const HeadGraph& graph) {
  std::vector<Arc> arcs(graph.arcs().begin(), graph.arcs().end());
  double largest = 0;
  for (const Arc& arc : arcs) largest = std::max(largest, arc.weight);
  if (largest == 0) return {};
  for (Arc& arc : arcs) arc.weight /= largest;
  return arcs;
}

Iterated pagerank(std::size_t count, std::span<const Arc> arcs, const GraphMeasureOptions& options) {
  std::vector<double> leaving(count);
  for (const Arc& arc : arcs) leaving[arc.source] += arc.weight;

  const auto n = static_cast<double>(count);
  Iterated rank{std::vector<double>(count, 1 / n), count == 0};
  for (std::size_t step = 0; step < options.max_iterations && !rank.converged; ++step) {
    double dangling = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (leaving[i] == 0) dangling += rank.values[i];
    }
    std::vector<double> next(count, (options.damping * dangling + 1 - options.damping) / n);
    for (const Arc& arc : arcs) {
      if (leaving[arc.source] == 0) continue;
      next[arc.target] += options.damping * rank.values[arc.source] * (arc.weight / leaving[arc.source]);
    }
    normalize(next);
    rank.converged = change(rank.values, next) <= options.tolerance;
    rank.values = std::move(next);
  }
  return rank;
}

std::vector<double> hubs_of(std::span<const double> authority, std::span<const Arc> arcs) {
  std::vector<double> hub(authority.size());
  for (const Arc& arc : arcs) hub[arc.source] += arc.weight * authority[arc.target];
  return hub;
}

// The leading right singular vector of the weights, with sum 1. Weights and the start vector are nonnegative, so all
// iterates are, and nothing cancels.
Iterated authorities(std::size_t count, std::span<const Arc> arcs, const GraphMeasureOptions& options) {
  if (arcs.empty()) return {std::vector<double>(count), true};
  Iterated authority{std::vector<double>(count, 1 / static_cast<double>(count)), false};
  for (std::size_t step = 0; step < options.max_iterations && !authority.converged; ++step) {
    const std::vector<double> hub = hubs_of(authority.values, arcs);
    std::vector<double> next(count);
    for (const Arc& arc : arcs) next[arc.target] += arc.weight * hub[arc.source];
    normalize(next);
    authority.converged = change(authority.values, next) <= options.tolerance;
    authority.values = std::move(next);
  }
  return authority;
}

// Adds the contribution of shortest paths from one source to every node (Brandes 2001, algorithm 1).
class PathsFromOne {
 public:
  explicit PathsFromOne(const HeadGraph& graph)
      : graph_(graph),
        distance_(graph.nodes().size()),
        paths_(graph.nodes().size()),
        dependency_(graph.nodes().size()) {
    reached_.reserve(graph.nodes().size());
  }

  void add(std::size_t source, std::vector<double>& betweenness) {
    search(source);
    // Farthest first: the dependencies of a node's successors are complete before its own is computed.
    for (auto v = reached_.rbegin(); v != reached_.rend(); ++v) {
      for (const Arc& arc : graph_.arcs_from(*v)) {
        if (distance_[arc.target] != distance_[*v] + 1) continue;
        dependency_[*v] += paths_[*v] / paths_[arc.target] * (1 + dependency_[arc.target]);
      }
      if (*v != source) betweenness[*v] += dependency_[*v];
    }
  }

 private:
  static constexpr std::size_t kUnreached = std::numeric_limits<std::size_t>::max();

  // Fills reached_, by increasing distance, distance_ and paths_, the number of shortest paths.
  void search(std::size_t source) {
    std::ranges::fill(distance_, kUnreached);
    std::ranges::fill(paths_, 0);
    std::ranges::fill(dependency_, 0);
    distance_[source] = 0;
    paths_[source] = 1;
    reached_.assign(1, source);
    for (std::size_t i = 0; i < reached_.size(); ++i) {
      const std::size_t v = reached_[i];
      for (const Arc& arc : graph_.arcs_from(v)) {
        if (distance_[arc.target] == kUnreached) {
          distance_[arc.target] = distance_[v] + 1;
          reached_.push_back(arc.target);
        }
        if (distance_[arc.target] == distance_[v] + 1) paths_[arc.target] += paths_[v];
      }
    }
  }

  const HeadGraph& graph_;
  std::vector<std::size_t> distance_;
  std::vector<double> paths_;
  std::vector<double> dependency_;
  std::vector<std::size_t> reached_;
};

std::vector<double> betweenness(const HeadGraph& graph) {
  const std::size_t count = graph.nodes().size();
  std::vector<double> sums(count);
  if (count < 3) return sums;
  PathsFromOne paths(graph);
  for (std::size_t source = 0; source < count; ++source) paths.add(source, sums);
  const double pairs = static_cast<double>(count - 1) * static_cast<double>(count - 2);
  for (double& sum : sums) sum /= pairs;
  return sums;
}

void check(const GraphMeasureOptions& options) {
  if (!(options.damping >= 0 && options.damping < 1)) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("measure_graph: damping is {}, expected a number in [0, 1)", options.damping));
  }
  if (!(options.tolerance > 0)) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("measure_graph: tolerance is {}, expected more than 0", options.tolerance));
  }
}

}  // namespace

GraphMeasures measure_graph(const HeadGraph& graph, const GraphMeasureOptions& options) {
  check(options);
  const std::size_t count = graph.nodes().size();
  const std::vector<Arc> arcs = scaled_arcs(graph);
  const Iterated rank = pagerank(count, arcs, options);
  const Iterated authority = authorities(count, arcs, options);
  std::vector<double> hub = hubs_of(authority.values, arcs);
  normalize(hub);
  const std::vector<double> between = betweenness(graph);

  GraphMeasures measures;
  measures.pagerank_converged = rank.converged;
  measures.hits_converged = authority.converged;
  measures.nodes.resize(count);
  count_edges(graph, measures.nodes);
  for (std::size_t i = 0; i < count; ++i) {
    measures.nodes[i].pagerank = rank.values[i];
    measures.nodes[i].hub = hub[i];
    measures.nodes[i].authority = authority.values[i];
    measures.nodes[i].betweenness = between[i];
  }
  return measures;
}

}  // namespace headscope
