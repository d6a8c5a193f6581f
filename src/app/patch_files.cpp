#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

Json about_json(const PatchOutcome& outcome) {
  return {{"verdict", verdict(outcome)},
          {"metric", metric_name(outcome.metric)},
          {"replace", replacement_name(outcome.replacement)},
          {"inputs", outcome.inputs},
          {"tokens", outcome.tokens},
          {"predictions", outcome.result.predictions},
          {"before", number(outcome.result.before)}};
}

std::string circuit_json(const PatchOutcome& outcome) {
  const std::vector<MeasuredEdge> circuit = circuit_of(outcome.result.edges);
  Json root = about_json(outcome);
  Json levels = Json::object();
  for (const Agreement& one : outcome.result.agreement) levels[pair_name(one.role)] = number(one.level);
  root["levels"] = std::move(levels);
  std::set<HeadId> heads;
  for (const MeasuredEdge& one : circuit) heads.insert({one.edge.source, one.edge.target});
  root["nodes"] = Json::array();
  for (const HeadId& id : heads) {
    root["nodes"].push_back(
        {{"name", to_string(id)}, {"layer", id.layer}, {"head", id.head}, {"kind", id.key_value ? "kv" : "query"}});
  }
  root["edges"] = Json::array();
  for (const MeasuredEdge& one : circuit) root["edges"].push_back(edge_json(one));
  return app::json_text(root);
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

}  // namespace

void write(const PatchOutcome& outcome, RunFolder& folder) {
  for (const Screen& one : outcome.result.screens) {
    folder.add_array(
        describe(run_files::kScreen, {{"pair", pair_name(one.role)}, {"target", std::string(1, letter(one.role))}},
                 {one.values.rows(), one.values.columns()}),
        one.values.values());
  }
  folder.verdict() = verdict(outcome);
  if (outcome.result.edges.empty()) return;
  add_edges(outcome, folder);
  folder.add_text(describe(run_files::kCircuitGraph), circuit_graphml(circuit_of(outcome.result.edges)));
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
  if (outcome.warning) root["warnings"].push_back(*outcome.warning);
  return app::json_text(std::move(root), outcome.files);
}

}  // namespace headscope
