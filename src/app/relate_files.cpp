#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/component_files.h"
#include "app/hub_table.h"
#include "app/json_text.h"
#include "app/relate_lines.h"
#include "app/relate_verdict.h"
#include "app/run_output.h"
#include "headscope/app/relate.h"
#include "headscope/relate/graph_export.h"
#include "headscope/run/schema.h"
#include "headscope/run/schema/relate.h"
#include "headscope/tree/tree_json.h"

namespace headscope {
namespace {

using app::Json;

// The KV head whose keys and values a query head uses; empty if they are its own.
std::string used_by(HeadId id, const HeadSizes& sizes) {
  if (id.key_value || sizes.kv_heads == sizes.heads) return "";
  const std::size_t layer = sizes.layer_of(id).value();
  return to_string(sizes.head_of(sizes.kv_layer(layer), id.head / sizes.queries_per_kv(layer), /*key_value=*/true));
}

void add_heads(RunFolder& folder, const RelateOutcome& outcome) {
  const HeadSizes& sizes = outcome.model.sizes;
  // Rank of a head in each role that was compared, by the first metric.
  std::map<std::pair<HeadId, Role>, std::size_t> ranks;
  for (const Affinities& one : outcome.result.affinities) {
    if (one.metric != outcome.options.metrics.front()) continue;
    for (std::size_t i = 0; i < one.source.heads.size(); ++i)
      ranks[{one.source.heads[i], one.pair.source}] = one.source.ranks[i];
    for (std::size_t i = 0; i < one.target.heads.size(); ++i)
      ranks[{one.target.heads[i], one.pair.target}] = one.target.ranks[i];
  }
  const auto rank = [&](HeadId id, Role role) -> std::optional<std::size_t> {
    const auto found = ranks.find({id, role});
    if (found == ranks.end()) return std::nullopt;
    return found->second;
  };
  Table table = make_table(run_files::kHeads);
  for (const ComponentId& node : outcome.result.graph.nodes()) {
    const HeadId id = node.head_id();
    const std::string classes =
        outcome.options.labels ? fmt::format("{}", fmt::join(outcome.options.labels->classes_of(id), ";")) : "";
    table.add_row({to_string(id), id.layer, id.head, id.key_value ? "kv" : "query", rank(id, Role::kQ),
                   rank(id, Role::kK), rank(id, Role::kV), rank(id, Role::kO), classes, used_by(id, sizes),
                   to_string(id.block)});
  }
  folder.add_table(run_files::kHeads, std::move(table));
}

void add_affinities(RunFolder& folder, const RelateResult& result) {
  for (const Affinities& one : result.affinities) {
    const Placeholders names = {{"metric", std::string(info(one.metric).name)},
                                {"pair", to_string(one.pair)},
                                {"source", std::string(1, letter(one.pair.source))},
                                {"target", std::string(1, letter(one.pair.target))}};
    folder.add_array(describe(run_files::kAffinity, names, {one.values.rows(), one.values.columns()}),
                     one.values.values());
  }
}

void add_edges(RunFolder& folder, const RelateResult& result) {
  std::vector<std::string> nulls;
  for (const NullModel null : result.nulls) nulls.emplace_back(to_string(null));
  Table table = make_table(run_files::kEdges, {{"null", nulls}});
  for (const Edge& edge : result.edges) {
    std::vector<Cell> row = {to_string(edge.pair), to_string(edge.source), to_string(edge.target), edge.score,
                             edge.rank};
    for (const EdgeScore& null : edge.nulls) row.emplace_back(null.z);
    for (const EdgeScore& null : edge.nulls) row.emplace_back(null.p);
    for (const EdgeScore& null : edge.nulls) row.emplace_back(null.q);
    for (const EdgeScore& null : edge.nulls) row.emplace_back(null.log10_p);
    row.emplace_back(edge.beyond_chance);
    row.emplace_back(edge.stands_out);
    for (const EdgeScore& score : edge.nulls) row.emplace_back(score.null.mean);
    for (const EdgeScore& score : edge.nulls) row.emplace_back(score.null.deviation);
    for (const EdgeScore& score : edge.nulls) row.emplace_back(to_string(score.null.law));
    table.add_row(row);
  }
  folder.add_table(run_files::kEdges, std::move(table));
}

std::string name_of(const WiringCount& count) {
  return count.pair ? to_string(*count.pair) : "all";
}

void add_wiring(RunFolder& folder, const RelateResult& result) {
  Table table = make_table(run_files::kWiring);
  for (const WiringCount& count : result.wiring) {
    table.add_row({name_of(count), count.pairs, count.beyond_chance, count.stands_out});
  }
  folder.add_table(run_files::kWiring, std::move(table));
}

void add_graph(RunFolder& folder, const RelateOutcome& outcome) {
  const RelateResult& result = outcome.result;
  const HeadLabels* labels = outcome.options.labels ? &*outcome.options.labels : nullptr;
  const GraphToExport graph{outcome.components ? outcome.components->graph : result.graph,
                            outcome.components ? outcome.components->measures : result.measures, labels};
  folder.add_text(describe(run_files::kGraphMl), to_graphml(graph));
  folder.add_text(describe(run_files::kGexf), to_gexf(graph));
  folder.add_text(describe(run_files::kDot), to_dot(graph));

  folder.add_table(run_files::kHubs, app::hub_table(run_files::kHubs, result.graph, result.measures, result.hubs));
}

void add_tree(RunFolder& folder, const RelateResult& result) {
  std::vector<std::string> names;
  for (const ComponentId& id : result.graph.nodes()) names.push_back(to_string(id));
  folder.add_text(describe(run_files::kCommunities, {}, {names.size()}), to_json(*result.tree, names) + "\n");
}

void add_informativeness(RunFolder& folder, const RelateResult& result) {
  if (result.informativeness.empty()) return;
  Table table = make_table(run_files::kInformativeness);
  for (const Informativeness& one : result.informativeness) {
    table.add_row({to_string(one.pair), one.pairs, one.observed_mean, one.observed_deviation, one.random.mean,
                   one.random.deviation, one.paper, one.paper_width, one.paper_smoothed, one.fine, one.fine_width,
                   one.fine_smoothed, one.closed_form, one.paper_low, one.paper_high, one.ceiling, one.at_ceiling});
  }
  folder.add_table(run_files::kInformativeness, std::move(table));
}

void add_sensitivity(RunFolder& folder, const RelateResult& result) {
  if (result.sensitivity.empty()) return;
  Table table = make_table(run_files::kSensitivity);
  for (const Sensitivity& one : result.sensitivity) {
    table.add_row({to_string(one.pair), one.variant, one.steps.gain, one.steps.center, one.removed, one.spearman,
                   one.top_overlap, one.top, one.pairs});
  }
  folder.add_table(run_files::kSensitivity, std::move(table));
}

void add_labels(RunFolder& folder, const RelateOutcome& outcome) {
  if (!outcome.options.labels) return;
  const std::vector<Metric>& metrics = outcome.options.metrics;
  Table table = make_table(run_files::kLabels);
  for (const LabelRow& row : outcome.result.labels) {
    const auto metric = static_cast<std::size_t>(std::ranges::find(metrics, row.metric) - metrics.begin());
    const ClassCounts& counts = outcome.result.class_counts[metric];
    table.add_row({info(row.metric).name, to_string(row.pair), row.scores.pairs, row.scores.positives,
                   row.scores.average_precision, row.scores.roc_auc, row.scores.precision_at_k, outcome.options.top,
                   counts.inside, counts.outside});
  }
  folder.add_table(run_files::kLabels, std::move(table));
}

// Smaller q-values are not written: log10_p tells how far beyond it is.
constexpr double kLeastQ = 1e-12;

void add_tokens(RunFolder& folder, const RelateOutcome& outcome) {
  if (!outcome.has_tokens) return;
  Table table = make_table(run_files::kTokenProfiles);
  for (const ProfiledToken& token : outcome.tokens) {
    table.add_row({to_string(token.subspace.head), std::string(1, letter(token.subspace.role)), token.rank, token.id,
                   token.text, token.score, token.log10_p, std::max(token.q, kLeastQ)});
  }
  folder.add_table(run_files::kTokenProfiles, std::move(table));
}

Json edge_json(const Edge& edge, const std::vector<NullModel>& nulls) {
  Json entry = {{"pair", to_string(edge.pair)},
                {"source", to_string(edge.source)},
                {"target", to_string(edge.target)},
                {"score", app::number(edge.score)},
                {"rank", edge.rank}};
  for (std::size_t i = 0; i < nulls.size(); ++i) {
    entry[fmt::format("z_{}", to_string(nulls[i]))] = app::number(edge.nulls[i].z);
    entry[fmt::format("p_{}", to_string(nulls[i]))] = app::number(edge.nulls[i].p);
    entry[fmt::format("q_{}", to_string(nulls[i]))] = app::number(edge.nulls[i].q);
    entry[fmt::format("log10_p_{}", to_string(nulls[i]))] = app::number(edge.nulls[i].log10_p);
    entry[fmt::format("mean_{}", to_string(nulls[i]))] = app::number(edge.nulls[i].null.mean);
    entry[fmt::format("sd_{}", to_string(nulls[i]))] = app::number(edge.nulls[i].null.deviation);
  }
  entry["beyond_chance"] = edge.beyond_chance;
  entry["stands_out"] = edge.stands_out;
  return entry;
}

}  // namespace

void write(const RelateOutcome& outcome, RunFolder& folder) {
  add_heads(folder, outcome);
  add_affinities(folder, outcome.result);
  add_edges(folder, outcome.result);
  add_wiring(folder, outcome.result);
  add_graph(folder, outcome);
  add_tree(folder, outcome.result);
  add_informativeness(folder, outcome.result);
  add_sensitivity(folder, outcome.result);
  add_labels(folder, outcome);
  add_tokens(folder, outcome);
  app::add_components(folder, outcome);
  app::add_neurons(folder, outcome);
  folder.verdict() = app::relate_verdict(outcome.result);
  if (outcome.components) folder.verdict().push_back(app::component_sentence(outcome));
}

std::string summary(const RelateOutcome& outcome) {
  const RelateResult& result = outcome.result;
  const HeadSizes& sizes = outcome.model.sizes;
  std::string text = app::relate_verdict(result).front() + "\n";
  if (outcome.resumed_blocks > 0) {
    text +=
        fmt::format("{:<12} {} blocks of layers that an earlier run had finished\n", "resumed", outcome.resumed_blocks);
  }
  text += fmt::format("{:<12} {}, {}{}, {} weights\n", "model", outcome.model.family, sizes.text(),
                      sizes.kv_heads == sizes.heads ? "" : fmt::format(" ({} KV)", sizes.kv_heads),
                      to_string(outcome.options.affinity.weights));
  text += fmt::format("{:<12} {}; z under the {} null\n", "metric", info(outcome.options.metrics.front()).name,
                      to_string(result.headline));
  text += app::wiring_lines(result);
  text += app::hub_lines(result);
  text += app::component_lines(outcome);
  text += app::informativeness_lines(result);
  text += app::sensitivity_line(result);
  for (const LabelRow& row : result.labels) {
    text += fmt::format("{:<12} {} {}: PR-AUC {:.3f}, ROC-AUC {:.3f}\n", &row == &result.labels.front() ? "labels" : "",
                        info(row.metric).name, to_string(row.pair), row.scores.average_precision, row.scores.roc_auc);
  }
  for (const std::string& warning : result.warnings) text += fmt::format("{:<12} {}\n", "warning", warning);
  return text + "\n" + app::files_line(outcome.files);
}

std::string to_json(const RelateOutcome& outcome) {
  const RelateResult& result = outcome.result;
  Json edges = Json::array();
  for (const Edge& edge : result.edges) edges.push_back(edge_json(edge, result.nulls));
  Json hubs = Json::array();
  for (const Hub& hub : result.hubs) {
    hubs.push_back({{"head", to_string(result.graph.nodes()[hub.node])},
                    {"strength", app::number(hub.strength)},
                    {"p_family", app::number(hub.p_family)},
                    {"significant", hub.significant},
                    {"reason", hub.reason}});
  }
  Json informativeness = Json::array();
  for (const Informativeness& one : result.informativeness) {
    informativeness.push_back({{"pair", to_string(one.pair)},
                               {"kl", app::number(one.paper)},
                               {"kl_low", app::number(one.paper_low)},
                               {"kl_high", app::number(one.paper_high)},
                               {"kl_ceiling", app::number(one.ceiling)},
                               {"at_ceiling", one.at_ceiling},
                               {"kl_fine", app::number(one.fine)},
                               {"kl_closed_form", app::number(one.closed_form)}});
  }
  Json labels = Json::array();
  for (const LabelRow& row : result.labels) {
    labels.push_back({{"metric", info(row.metric).name},
                      {"pair", to_string(row.pair)},
                      {"pr_auc", app::number(row.scores.average_precision)},
                      {"roc_auc", app::number(row.scores.roc_auc)}});
  }
  Json wiring = Json::array();
  for (const WiringCount& count : result.wiring) {
    wiring.push_back({{"pair", name_of(count)},
                      {"pairs", count.pairs},
                      {"beyond_chance", count.beyond_chance},
                      {"stands_out", count.stands_out}});
  }
  Json nulls = Json::array();
  for (const NullModel null : result.nulls) nulls.push_back(to_string(null));
  Json root = {{"verdict", app::relate_verdict(result)},
               {"family", outcome.model.family},
               {"layers", outcome.model.sizes.layers},
               {"heads", outcome.model.sizes.heads},
               {"kv_heads", outcome.model.sizes.kv_heads},
               {"metric", info(outcome.options.metrics.front()).name},
               {"nulls", nulls},
               {"z_under", to_string(result.headline)},
               {"wiring", wiring},
               {"edges", edges},
               {"hubs", hubs},
               {"informativeness", informativeness},
               {"sensitivity", app::sensitivity_json(result)},
               {"labels", labels},
               {"warnings", result.warnings}};
  app::add_component_json(outcome, root);
  return app::json_text(std::move(root), outcome.files);
}

}  // namespace headscope
