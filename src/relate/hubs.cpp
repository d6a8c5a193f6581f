#include "headscope/relate/hubs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "headscope/base/error.h"

namespace headscope {
namespace {

enum class Direction { kOut, kIn };

// Totals over the edges of one head in one direction.
struct Links {
  std::map<std::string_view, std::size_t> pairs;  // number of edges per role pair
  std::map<ComponentId, double> partners;         // sum of z
  bool from_output = true;                        // whether every source role writes
  bool only_heads = true;                         // whether all partners are heads
};

Links sum_up(const HeadGraph& graph, std::span<const std::size_t> edges, Direction direction) {
  Links links;
  for (const std::size_t index : edges) {
    const HeadEdge& edge = graph.edges()[index];
    ++links.pairs[edge.pair];
    const ComponentId& partner = graph.nodes()[direction == Direction::kOut ? edge.target : edge.source];
    links.partners[partner] += edge.z;
    links.from_output &= edge.pair.find_first_of("QKV") != 0;
    links.only_heads &= partner.is_head();
  }
  return links;
}

// Returns the at most `count` entries with the largest values; ties are ordered by key.
template <typename Key, typename Value>
std::vector<std::pair<Key, Value>> largest(const std::map<Key, Value>& values, std::size_t count) {
  std::vector<std::pair<Key, Value>> sorted(values.begin(), values.end());
  std::ranges::stable_sort(sorted, std::ranges::greater{}, &std::pair<Key, Value>::second);
  sorted.resize(std::min(count, sorted.size()));
  return sorted;
}

std::string describe_pairs(const Links& links) {
  std::string text;
  for (const auto& [pair, edges] : largest(links.pairs, links.pairs.size())) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", printable(pair), edges);
  }
  return text;
}

std::string describe_partners(const Links& links, Direction direction, std::size_t count) {
  std::string names;
  for (const auto& [id, z] : largest(links.partners, count)) {
    names += (names.empty() ? "" : ", ") + to_string(id);
  }
  if (names.empty() || links.partners.size() <= count) return names.empty() ? "" : ": " + names;
  return fmt::format(", most {} {}", direction == Direction::kOut ? "to" : links.from_output ? "from" : "by", names);
}

// `noun`: whether to say "heads" or "components"; only the first clause does.
std::string describe(const Links& links, Direction direction, bool noun, std::size_t partners) {
  const char* singular = links.only_heads ? " head" : " component";
  const char* plural = links.only_heads ? " heads" : " components";
  const bool out = direction == Direction::kOut;
  const char* verb = links.from_output ? (out ? "writes to" : "reads from") : (out ? "points to" : "is pointed to by");
  const std::size_t heads = links.partners.size();
  return fmt::format("{} {}{} ({}){}", verb, heads, !noun ? "" : (heads == 1 ? singular : plural),
                     describe_pairs(links), describe_partners(links, direction, partners));
}

std::string reason_for(const Links& out, const Links& in, std::size_t partners) {
  if (out.partners.empty() && in.partners.empty()) return "has no kept edge beyond chance";
  std::string reason;
  if (!out.partners.empty()) reason = describe(out, Direction::kOut, true, partners);
  if (!in.partners.empty()) {
    const bool first = reason.empty();
    reason += (first ? "" : "; ") + describe(in, Direction::kIn, first, partners);
  }
  return reason;
}

}  // namespace

std::vector<Hub> rank_hubs(const HeadGraph& graph, const GraphMeasures& measures, const HubOptions& options) {
  const std::size_t count = graph.nodes().size();
  if (measures.nodes.size() != count) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("rank_hubs: the graph has {} nodes, the measures are of {}", count, measures.nodes.size()));
  }
  std::vector<std::vector<std::size_t>> leaving(count);
  std::vector<std::vector<std::size_t>> arriving(count);
  for (std::size_t i = 0; i < graph.edges().size(); ++i) {
    if (!graph.edges()[i].beyond_chance) continue;
    leaving[graph.edges()[i].source].push_back(i);
    arriving[graph.edges()[i].target].push_back(i);
  }

  std::vector<Hub> hubs;
  for (std::size_t node = 0; node < count; ++node) {
    const Links out = sum_up(graph, leaving[node], Direction::kOut);
    const Links in = sum_up(graph, arriving[node], Direction::kIn);
    hubs.push_back({node, measures.nodes[node].out_strength + measures.nodes[node].in_strength,
                    reason_for(out, in, options.partners)});
  }
  std::ranges::sort(hubs, [&](const Hub& a, const Hub& b) {
    const bool a_alone = leaving[a.node].empty() && arriving[a.node].empty();
    const bool b_alone = leaving[b.node].empty() && arriving[b.node].empty();
    if (a_alone != b_alone) return b_alone;
    if (a.strength != b.strength) return a.strength > b.strength;
    return graph.nodes()[a.node] < graph.nodes()[b.node];
  });
  return hubs;
}

}  // namespace headscope
