#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "app/json_text.h"
#include "app/run_output.h"
#include "headscope/app/patch.h"
#include "headscope/patch/circuit_export.h"
#include "headscope/run/schema.h"
#include "headscope/run/schema/patch.h"

namespace headscope {
namespace {

using app::Json;
using app::number;

std::string pair_name(Role role) {
  return to_string(RolePair{Role::kO, role});
}

std::string_view metric_name(PatchMetric metric) {
  return metric == PatchMetric::kLoss ? "loss" : "logit-diff";
}

std::string_view replacement_name(Replacement replacement) {
  switch (replacement) {
    case Replacement::kMean:
      return "mean";
    case Replacement::kZero:
      return "zero";
    case Replacement::kPair:
      return "pair";
  }
  return "unknown";
}

Json edge_json(const MeasuredEdge& one) {
  return {{"pair", pair_name(one.edge.role)},
          {"source", to_string(one.edge.source)},
          {"target", to_string(one.edge.target)},
          {"pk", one.pk},
          {"z", one.z},
          {"local", one.local},
          {"effect", number(one.effect)},
          {"kind", to_string(one.kind)}};
}

Json agreement_json(const Agreement& one) {
  return {{"pair", pair_name(one.role)},
          {"sample", to_string(one.sample)},
          {"chosen", one.chosen},
          {"controls", one.controls},
          {"level", number(one.level)},
          {"above", one.above},
          {"median", number(one.median)},
          {"median_control", number(one.median_control)},
          {"auc_pk", number(one.auc_pk)},
          {"auc_z", number(one.auc_z)},
          {"auc_local", number(one.auc_local)},
          {"rank_correlation_pk", number(one.rank_correlation_pk)},
          {"rank_correlation_local", number(one.rank_correlation_local)},
          {"p", number(one.p)}};
}

std::string pair_name(ComponentKind target) {
  return target == ComponentKind::kMlp ? "OM" : "OU";
}

Json cut_json(const MeasuredCut& one) {
  return {{"pair", pair_name(one.cut.target.kind)},
          {"source", to_string(one.cut.source)},
          {"target", to_string(one.cut.target)},
          {"overlap", one.overlap},
          {"z", one.z},
          {"effect", number(one.effect)},
          {"kind", to_string(one.kind)}};
}

Json agreement_json(const ComponentAgreement& one) {
  return {{"pair", pair_name(one.target)},
          {"chosen", one.chosen},
          {"controls", one.controls},
          {"level", number(one.level)},
          {"above", one.above},
          {"median", number(one.median)},
          {"median_control", number(one.median_control)},
          {"auc_overlap", number(one.auc_overlap)},
          {"auc_z", number(one.auc_z)},
          {"rank_correlation_overlap", number(one.rank_correlation_overlap)},
          {"p", number(one.p)}};
}

Json about_json(const PatchOutcome& outcome) {
  return {{"verdict", verdict(outcome)},
          {"metric", metric_name(outcome.metric)},
          {"replace", replacement_name(outcome.replacement)},
          {"inputs", outcome.inputs},
          {"tokens", outcome.tokens},
          {"predictions", outcome.result.predictions},
          {"before", number(outcome.result.before)}};
}

Json node_json(const ComponentId& id) {
  Json node = {{"name", to_string(id)}, {"kind", to_string(id.kind)}};
  if (id.block != Block::kOnly) node["block"] = to_string(id.block);
  if (id.is_in_layer()) node["layer"] = id.layer;
  if (id.is_head()) node["head"] = id.head;
  return node;
}

Json edge_json(const CircuitEdge& one) {
  Json edge = {{"pair", one.pair},
               {"source", to_string(one.source)},
               {"target", to_string(one.target)},
               {"z", number(one.z)},
               {"effect", one.effect},
               {"kind", to_string(one.kind)}};
  if (one.pk) edge["pk"] = *one.pk;
  if (one.local) edge["local"] = *one.local;
  if (one.overlap) edge["overlap"] = *one.overlap;
  return edge;
}

std::vector<CircuitEdge> circuit_of(const PatchOutcome& outcome) {
  return circuit_of(outcome.result.edges, outcome.result.components.cuts);
}

std::string circuit_json(const PatchOutcome& outcome) {
  const std::vector<CircuitEdge> circuit = circuit_of(outcome);
  Json root = about_json(outcome);
  Json levels = Json::object();
  for (const Agreement& one : outcome.result.agreement) levels[pair_name(one.role)] = number(one.level);
  for (const ComponentAgreement& one : outcome.result.components.agreement) {
    levels[pair_name(one.target)] = number(one.level);
  }
  root["levels"] = std::move(levels);
  std::set<ComponentId> nodes;
  for (const CircuitEdge& one : circuit) nodes.insert({one.source, one.target});
  root["nodes"] = Json::array();
  for (const ComponentId& id : nodes) root["nodes"].push_back(node_json(id));
  root["edges"] = Json::array();
  for (const CircuitEdge& one : circuit) root["edges"].push_back(edge_json(one));
  return app::json_text(root);
}

void add_components(const ComponentEffects& effects, RunFolder& folder) {
  Table table = make_table(run_files::kPatchComponents);
  for (const MeasuredCut& one : effects.cuts) {
    table.add_row({pair_name(one.cut.target.kind), to_string(one.cut.source), to_string(one.cut.target), one.overlap,
                   one.z, one.effect, to_string(one.kind), one.beyond_chance, one.above_controls, one.in_circuit});
  }
  folder.add_table(run_files::kPatchComponents, std::move(table));
  Table agreement = make_table(run_files::kPatchComponentAgreement);
  for (const ComponentAgreement& one : effects.agreement) {
    agreement.add_row({pair_name(one.target), one.chosen, one.controls, one.level, one.above, one.median,
                       one.median_control, one.auc_overlap, one.auc_z, one.rank_correlation_overlap, one.p});
  }
  folder.add_table(run_files::kPatchComponentAgreement, std::move(agreement));
}

void add_edges(const PatchOutcome& outcome, RunFolder& folder) {
  Table table = make_table(run_files::kPatch);
  for (const MeasuredEdge& one : outcome.result.edges) {
    table.add_row({pair_name(one.edge.role), to_string(one.edge.source), to_string(one.edge.target), one.pk, one.z,
                   one.local, one.effect, to_string(one.kind), one.beyond_chance, to_string(one.sample),
                   one.above_controls, one.in_circuit});
  }
  folder.add_table(run_files::kPatch, std::move(table));
  Table agreement = make_table(run_files::kPatchAgreement);
  for (const Agreement& one : outcome.result.agreement) {
    agreement.add_row({pair_name(one.role), to_string(one.sample), one.chosen, one.controls, one.level, one.above,
                       one.median, one.median_control, one.auc_pk, one.auc_z, one.auc_local, one.rank_correlation_pk,
                       one.rank_correlation_local, one.p});
  }
  folder.add_table(run_files::kPatchAgreement, std::move(agreement));
}

std::string short_text(double value) {
  return std::isnan(value) ? "-" : fmt::format("{:.2g}", value);
}

std::string hundredths(double value) {
  return std::isnan(value) ? "-" : fmt::format("{:.2f}", value);
}

// The edges with the largest effects.
std::string strongest_lines(const PatchOutcome& outcome) {
  constexpr std::size_t kShown = 10;
  std::vector<MeasuredEdge> edges;
  for (const MeasuredEdge& one : outcome.result.edges) {
    if (one.kind != EdgeKind::kControl && one.effect) edges.push_back(one);
  }
  std::ranges::stable_sort(edges, std::greater{}, [](const MeasuredEdge& one) { return std::abs(*one.effect); });
  edges.resize(std::min(edges.size(), kShown));
  std::string text = fmt::format("  {:<4} {:<22} {:>9} {:>8} {:>8} {:>8}  {}\n", "pair", "edge", "effect", "pk", "z",
                                 "local", "chosen by");
  for (const MeasuredEdge& one : edges) {
    text += fmt::format("  {:<4} {:<22} {:>+9.3g} {:>8.2f} {:>8.1f} {:>8.2g}  {}{}\n", pair_name(one.edge.role),
                        fmt::format("{} > {}", to_string(one.edge.source), to_string(one.edge.target)), *one.effect,
                        one.pk, one.z, one.local, to_string(one.kind), one.in_circuit ? ", in the circuit" : "");
  }
  return text;
}

std::string agreement_lines(const PatchOutcome& outcome) {
  std::string text = fmt::format("  {:<4} {:<7} {:>5} {:>8} {:>8} {:>9} {:>8} {:>6} {:>7} {:>6}\n", "pair", "sample",
                                 "cut", "median", "controls", "their 99%", "above", "AUC pk", "z", "local");
  for (const Agreement& one : outcome.result.agreement) {
    text += fmt::format("  {:<4} {:<7} {:>5} {:>8} {:>8} {:>9} {:>8} {:>6} {:>7} {:>6}\n", pair_name(one.role),
                        to_string(one.sample), one.chosen, short_text(one.median), short_text(one.median_control),
                        short_text(one.level), one.above, hundredths(one.auc_pk), hundredths(one.auc_z),
                        hundredths(one.auc_local));
  }
  return text;
}

// The edges to MLPs and the unembedding with the largest effects, and how they compare with their controls.
std::string component_lines(const ComponentEffects& effects) {
  constexpr std::size_t kShown = 10;
  std::vector<MeasuredCut> cuts;
  std::ranges::copy_if(effects.cuts, std::back_inserter(cuts),
                       [](const MeasuredCut& one) { return one.kind != EdgeKind::kControl; });
  std::ranges::stable_sort(cuts, std::greater{}, [](const MeasuredCut& one) { return std::abs(*one.effect); });
  cuts.resize(std::min(cuts.size(), kShown));
  std::string text =
      fmt::format("  {:<4} {:<22} {:>9} {:>8} {:>8}  {}\n", "pair", "edge", "effect", "overlap", "z", "chosen by");
  for (const MeasuredCut& one : cuts) {
    text += fmt::format("  {:<4} {:<22} {:>+9.3g} {:>8} {:>8}  {}{}\n", pair_name(one.cut.target.kind),
                        fmt::format("{} > {}", to_string(one.cut.source), to_string(one.cut.target)), *one.effect,
                        hundredths(one.overlap), hundredths(one.z), to_string(one.kind),
                        one.in_circuit ? ", in the circuit" : "");
  }
  text += fmt::format("  {:<4} {:>5} {:>8} {:>8} {:>9} {:>8} {:>11} {:>6}\n", "pair", "cut", "median", "controls",
                      "their 99%", "above", "AUC overlap", "p");
  for (const ComponentAgreement& one : effects.agreement) {
    text += fmt::format("  {:<4} {:>5} {:>8} {:>8} {:>9} {:>8} {:>11} {:>6}\n", pair_name(one.target), one.chosen,
                        short_text(one.median), short_text(one.median_control), short_text(one.level), one.above,
                        hundredths(one.auc_overlap), short_text(one.p));
  }
  return text;
}

}  // namespace

void write(const PatchOutcome& outcome, RunFolder& folder) {
  for (const Screen& one : outcome.result.screens) {
    folder.add_array(
        describe(run_files::kScreen, {{"pair", pair_name(one.role)}, {"target", std::string(1, letter(one.role))}},
                 {one.values.rows(), one.values.columns()}),
        one.values.values());
  }
  folder.verdict() = verdict(outcome);
  const ComponentEffects& components = outcome.result.components;
  if (!outcome.result.edges.empty()) add_edges(outcome, folder);
  if (!components.cuts.empty()) add_components(components, folder);
  if (outcome.result.edges.empty() && components.cuts.empty()) return;
  folder.add_text(describe(run_files::kCircuitGraph), circuit_graphml(circuit_of(outcome)));
  folder.add_text(describe(run_files::kCircuit), circuit_json(outcome));
}

std::string summary(const PatchOutcome& outcome) {
  const PatchResult& result = outcome.result;
  const std::vector<std::string> sentences = verdict(outcome);
  std::string text = sentences.front() + "\n";
  text += fmt::format("{} tokens of {} input{}; a cut edge carries {}", outcome.tokens, outcome.inputs,
                      outcome.inputs == 1 ? "" : "s",
                      outcome.replacement == Replacement::kMean   ? "the head's mean output"
                      : outcome.replacement == Replacement::kZero ? "nothing"
                                                                  : "the head's output on the paired input");
  if (result.before) {
    text += fmt::format("; {} {:.4f} over {} predictions with nothing cut",
                        outcome.metric == PatchMetric::kLoss ? "loss" : "logit difference", *result.before,
                        result.predictions);
  }
  text += "\n";
  if (!result.edges.empty()) text += strongest_lines(outcome) + agreement_lines(outcome);
  if (!result.components.cuts.empty()) text += component_lines(result.components);
  for (std::size_t i = 1; i < sentences.size(); ++i) text += sentences[i] + "\n";
  if (outcome.warning) text += fmt::format("warning: {}\n", *outcome.warning);
  return text + "\n" + app::files_line(outcome.files);
}

std::string to_json(const PatchOutcome& outcome) {
  Json root = about_json(outcome);
  root["agreement"] = Json::array();
  for (const Agreement& one : outcome.result.agreement) root["agreement"].push_back(agreement_json(one));
  root["edges"] = Json::array();
  for (const MeasuredEdge& one : outcome.result.edges) root["edges"].push_back(edge_json(one));
  const ComponentEffects& components = outcome.result.components;
  for (const ComponentAgreement& one : components.agreement) root["component_agreement"].push_back(agreement_json(one));
  for (const MeasuredCut& one : components.cuts) root["component_edges"].push_back(cut_json(one));
  if (outcome.warning) root["warnings"].push_back(*outcome.warning);
  return app::json_text(std::move(root), outcome.files);
}

}  // namespace headscope
