#include "app/component_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "app/hub_table.h"
#include "headscope/relate/mib_graph.h"
#include "headscope/run/schema.h"
#include "headscope/run/schema/components.h"
#include "headscope/run/schema/relate.h"

namespace headscope::app {
namespace {

void add_list(RunFolder& folder, const Overlaps& overlaps) {
  Table table = make_table(run_files::kComponents);
  for (const auto* sides : {&overlaps.sources, &overlaps.targets}) {
    for (const ComponentSide& side : *sides) {
      for (std::size_t i = 0; i < side.nodes.size(); ++i) {
        const ComponentId& id = side.nodes[i];
        const double square = side.moments[i].trace_of_square;
        table.add_row({to_string(id), to_string(id.kind), std::string(1, side.letter), side.reads,
                       id.is_in_layer() ? std::optional(id.layer) : std::nullopt, side.columns[i], side.ranks[i],
                       square > 0 ? std::optional(1 / square) : std::nullopt});
      }
    }
  }
  folder.add_table(run_files::kComponents, std::move(table));
}

void add_scores(RunFolder& folder, const Overlaps& overlaps) {
  for (const ComponentScores& one : overlaps.scores) {
    const Placeholders names = {{"pair", overlaps.pair_name(one)},
                                {"source", std::string(1, overlaps.sources[one.source].letter)},
                                {"target", std::string(1, overlaps.targets[one.target].letter)}};
    const Shape shape = {one.overlap.rows(), one.overlap.columns()};
    folder.add_array(describe(run_files::kComponentOverlap, names, shape), one.overlap.values());
    const bool has_pk = std::ranges::any_of(one.pk.values(), [](float value) { return !std::isnan(value); });
    if (has_pk) folder.add_array(describe(run_files::kComponentPk, names, shape), one.pk.values());
  }
}

void add_edges(RunFolder& folder, const ComponentGraph& graph) {
  Table table = make_table(run_files::kComponentEdges);
  for (const ComponentEdge& edge : graph.edges) {
    table.add_row({edge.pair, to_string(edge.source), to_string(edge.target), edge.overlap, edge.pk, edge.rank,
                   edge.isotropic.z, edge.isotropic.p, edge.isotropic.q, edge.isotropic.log10_p, edge.span.z,
                   edge.span.q, edge.beyond_chance, edge.stands_out});
  }
  folder.add_table(run_files::kComponentEdges, std::move(table));
}

void add_wiring(RunFolder& folder, const ComponentGraph& graph) {
  Table table = make_table(run_files::kComponentWiring);
  for (const ComponentCount& count : graph.wiring) {
    table.add_row({count.pair, count.pairs, count.beyond_chance, count.stands_out});
  }
  folder.add_table(run_files::kComponentWiring, std::move(table));
}

}  // namespace

void add_components(RunFolder& folder, const RelateOutcome& outcome) {
  if (!outcome.components) return;
  const ComponentGraph& graph = *outcome.components;
  add_list(folder, graph.overlaps);
  add_scores(folder, graph.overlaps);
  add_edges(folder, graph);
  add_wiring(folder, graph);
  folder.add_table(run_files::kComponentHubs,
                   hub_table(run_files::kComponentHubs, graph.graph, graph.measures, graph.hubs));
  if (const auto json = to_mib_json(graph, outcome.model.sizes)) folder.add_text(describe(run_files::kMibGraph), *json);
}

void add_neurons(RunFolder& folder, const RelateOutcome& outcome) {
  if (outcome.neurons.empty()) return;
  Table neurons = make_table(run_files::kNeurons);
  for (const HeadNeurons& one : outcome.neurons) {
    for (std::size_t i = 0; i < one.top.size(); ++i) {
      const NeuronScore& score = one.top[i];
      neurons.add_row({to_string(one.subspace.head), std::string(1, letter(one.subspace.role)), i + 1,
                       to_string(score.neuron), to_string(score.neuron.vector), score.share, score.log10_p,
                       std::max(score.q, kSmallestP)});
    }
  }
  folder.add_table(run_files::kNeurons, std::move(neurons));
  if (outcome.neuron_tokens.empty()) return;
  Table tokens = make_table(run_files::kNeuronTokens);
  for (const NeuronToken& one : outcome.neuron_tokens) {
    tokens.add_row({to_string(one.neuron), to_string(one.neuron.vector), one.rank, one.score.token, one.text,
                    one.score.score, one.score.log10_p, std::max(one.score.q, kSmallestP)});
  }
  folder.add_table(run_files::kNeuronTokens, std::move(tokens));
}

std::string component_sentence(const RelateOutcome& outcome) {
  if (!outcome.components) return "";
  const ComponentCount& all = outcome.components->wiring.back();
  return fmt::format(
      "Components, by overlap: {} of {} pairs are beyond the isotropic null, {} stand out among the pairs of their "
      "roles "
      "and layer distance",
      all.beyond_chance, all.pairs, all.stands_out);
}

std::string component_lines(const RelateOutcome& outcome) {
  if (!outcome.components) return "";
  constexpr std::size_t kShown = 3;
  const ComponentGraph& graph = *outcome.components;
  const ComponentCount& all = graph.wiring.back();
  std::string lines = fmt::format("{:<12} {} of {} pairs beyond chance (isotropic), {} stand out, by overlap\n",
                                  "components", all.beyond_chance, all.pairs, all.stands_out);
  std::vector<const ComponentEdge*> strongest;
  for (const ComponentEdge& edge : graph.edges) {
    const bool heads = edge.source.is_head() && edge.target.is_head();
    if (edge.stands_out && !heads) strongest.push_back(&edge);
  }
  std::ranges::stable_sort(strongest, std::ranges::greater(), [](const ComponentEdge* edge) { return edge->overlap; });
  strongest.resize(std::min(kShown, strongest.size()));
  std::vector<std::string> names;
  for (const ComponentEdge* edge : strongest) {
    names.push_back(fmt::format("{} > {} ({} {:.3g})", to_string(edge->source), to_string(edge->target), edge->pair,
                                edge->overlap));
  }
  if (!names.empty()) lines += fmt::format("{:<12} {}\n", "", fmt::join(names, "   "));
  return lines;
}

void add_component_json(const RelateOutcome& outcome, Json& root) {
  if (!outcome.components) return;
  Json wiring = Json::array();
  for (const ComponentCount& count : outcome.components->wiring) {
    wiring.push_back({{"pair", count.pair},
                      {"pairs", count.pairs},
                      {"beyond_chance", count.beyond_chance},
                      {"stands_out", count.stands_out}});
  }
  Json edges = Json::array();
  for (const ComponentEdge& edge : outcome.components->edges) {
    edges.push_back({{"pair", edge.pair},
                     {"source", to_string(edge.source)},
                     {"target", to_string(edge.target)},
                     {"overlap", number(static_cast<double>(edge.overlap))},
                     {"rank", edge.rank},
                     {"z_isotropic", number(edge.isotropic.z)},
                     {"z_span", number(edge.span.z)},
                     {"beyond_chance", edge.beyond_chance},
                     {"stands_out", edge.stands_out}});
    if (edge.pk) edges.back()["pk_normalized"] = number(static_cast<double>(*edge.pk));
  }
  root["components"] = {{"wiring", wiring}, {"edges", edges}};
}

}  // namespace headscope::app
