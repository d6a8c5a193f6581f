#include "headscope/relate/mib_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <tuple>

namespace headscope {
namespace {

std::string head_name(std::size_t layer, std::size_t head) {
  return fmt::format("a{}.h{}", layer, head);
}

// The names of a component: those of the query heads that use a KV head.
std::vector<std::string> names_of(const ComponentId& id, const HeadSizes& sizes) {
  switch (id.kind) {
    case ComponentKind::kEmbedding:
      return {"input"};
    case ComponentKind::kPosition:
    case ComponentKind::kExpert:  // the format knows whole MLPs only
      return {};
    case ComponentKind::kQueryHead:
      return {head_name(id.layer, id.head)};
    case ComponentKind::kKvHead:
      break;
    case ComponentKind::kRotaryKey: {
      std::vector<std::string> all;
      for (std::size_t head = 0; head < sizes.heads; ++head) all.push_back(head_name(id.layer, head));
      return all;
    }
    case ComponentKind::kMlp:
      return {fmt::format("m{}", id.layer)};
    case ComponentKind::kUnembedding:
      return {"logits"};
  }
  std::vector<std::string> names;
  const std::size_t share = sizes.queries_per_kv(id.layer);
  for (std::size_t i = 0; i < share; ++i) names.push_back(head_name(id.layer, id.head * share + i));
  return names;
}

std::string suffix(char letter) {
  switch (letter) {
    case 'Q':
      return "<q>";
    case 'K':
    case 'R':
      return "<k>";
    case 'V':
      return "<v>";
    default:
      return "";
  }
}

class Writer {
 public:
  Writer(const ComponentGraph& graph, const HeadSizes& sizes) : overlaps_(graph.overlaps), sizes_(sizes) {
    for (const ComponentEdge& edge : graph.edges) {
      if (edge.beyond_chance) kept_.emplace(edge.pair, edge.source, edge.target);
    }
  }

  std::string run() {
    for (const ComponentScores& scores : overlaps_.scores) add(scores);
    std::string nodes;
    add_node(nodes, "input");
    for (std::size_t layer = 0; layer < sizes_.layers; ++layer) {
      for (std::size_t head = 0; head < sizes_.heads; ++head) add_node(nodes, head_name(layer, head));
      add_node(nodes, fmt::format("m{}", layer));
    }
    in_graph_.insert("logits");
    add_node(nodes, "logits");
    return fmt::format(
        "{{\"cfg\": {{\"n_layers\": {}, \"n_heads\": {}, \"parallel_attn_mlp\": {}, \"d_model\": {}}},\n\"nodes\": "
        "{{{}}},\n\"edges\": {{{}}}}}\n",
        sizes_.layers, sizes_.heads, overlaps_.parallel, sizes_.d_model, nodes, edges_);
  }

 private:
  void add_node(std::string& nodes, const std::string& name) const {
    fmt::format_to(std::back_inserter(nodes), "{}\n\"{}\": {{\"in_graph\": {}}}", nodes.empty() ? "" : ",", name,
                   in_graph_.contains(name));
  }

  void add(const ComponentScores& scores) {
    const ComponentSide& source = overlaps_.sources[scores.source];
    const ComponentSide& target = overlaps_.targets[scores.target];
    const std::string pair = overlaps_.pair_name(scores);
    for (std::size_t i = 0; i < source.nodes.size(); ++i) {
      for (std::size_t j = 0; j < target.nodes.size(); ++j) {
        const float overlap = scores.overlap(i, j);
        if (std::isnan(overlap)) continue;
        const bool kept = kept_.contains({pair, source.nodes[i], target.nodes[j]});
        for (const std::string& from : names_of(source.nodes[i], sizes_)) {
          for (const std::string& to : names_of(target.nodes[j], sizes_)) {
            fmt::format_to(std::back_inserter(edges_), "{}\n\"{}->{}{}\": {{\"score\": {}, \"in_graph\": {}}}",
                           edges_.empty() ? "" : ",", from, to, suffix(target.letter), overlap, kept);
            if (kept) in_graph_.insert({from, to});
          }
        }
      }
    }
  }

  const Overlaps& overlaps_;
  const HeadSizes& sizes_;
  std::set<std::tuple<std::string, ComponentId, ComponentId>> kept_;
  std::set<std::string> in_graph_;
  std::string edges_;
};

// With every KV head counted once per query head.
std::size_t count_edges(const Overlaps& overlaps, const HeadSizes& sizes) {
  std::size_t edges = 0;
  for (const ComponentScores& scores : overlaps.scores) {
    const auto pairs = static_cast<std::size_t>(
        std::ranges::count_if(scores.overlap.values(), [](float value) { return !std::isnan(value); }));
    const bool shared = suffix(overlaps.targets[scores.target].letter).find_first_of("kv") == 1;
    edges += pairs * (shared ? sizes.heads / sizes.kv_heads : 1);
  }
  return edges;
}

}  // namespace

std::optional<std::string> to_mib_json(const ComponentGraph& graph, const HeadSizes& sizes) {
  const auto is_mlp = [](const ComponentSide& side) { return side.letter == 'M'; };
  if (std::ranges::none_of(graph.overlaps.targets, is_mlp)) return std::nullopt;
  if (count_edges(graph.overlaps, sizes) > kMostMibEdges) return std::nullopt;
  return Writer(graph, sizes).run();
}

}  // namespace headscope
