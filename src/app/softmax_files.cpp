#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/json_text.h"
#include "app/run_output.h"
#include "headscope/app/softmax.h"
#include "headscope/run/schema.h"
#include "headscope/run/schema/softmax.h"

namespace headscope {
namespace {

using app::Json;

constexpr std::array<const char*, 4> kParts = {"scores", "softmax", "approximation", "residual"};
constexpr std::array<const char*, 3> kPairs = {"scores_softmax", "scores_approximation", "softmax_approximation"};

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr InvarianceControl kNoControl = {kNone, kNone, kNone, kNone};

// In the order of kParts.
std::array<const Regularity*, kParts.size()> regularities(const ParaproductFigures& figures) {
  return {&figures.scores, &figures.softmax, &figures.approximation, &figures.residual};
}

// In the order of kPairs.
std::array<const OrganizationAgreement*, kPairs.size()> agreements(const HeadInvariance& head) {
  return {&head.scores_softmax, &head.scores_approximation, &head.softmax_approximation};
}

Table invariance_table(const SoftmaxOutcome& outcome) {
  Table table = make_table(run_files::kInvariance,
                           {{"part", {kParts.begin(), kParts.end()}}, {"pair", {kPairs.begin(), kPairs.end()}}});
  for (const HeadInvariance& head : outcome.heads) {
    std::vector<Cell> cells = {head.head, head.found.error_first, head.found.error_second, head.shuffled.error_first,
                               head.shuffled.error_second};
    const InvarianceControl control = head.control.value_or(kNoControl);
    cells.insert(cells.end(),
                 {control.error_first, control.error_second, control.cophenetic_query, control.cophenetic_key});
    for (const Regularity* one : regularities(head.found)) cells.emplace_back(one->alpha);
    for (const Regularity* one : regularities(head.shuffled)) cells.emplace_back(one->alpha);
    for (const OrganizationAgreement* one : agreements(head)) {
      cells.insert(cells.end(), {one->affinity_query, one->affinity_key, one->rand_query, one->rand_key,
                                 one->cophenetic_query, one->cophenetic_key});
    }
    table.add_row(cells);
  }
  return table;
}

void add_levels(RunFolder& folder, const SoftmaxOutcome& outcome) {
  Table table = make_table(run_files::kInvarianceLevels);
  for (const HeadInvariance& head : outcome.heads) {
    const auto pairs = agreements(head);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto add = [&](const char* axis, const std::vector<LevelAgreement>& levels) {
        for (const LevelAgreement& one : levels) {
          table.add_row(
              {head.head, kPairs[i], axis, one.level_a, one.level_b, one.folders_a, one.folders_b, one.rand_index});
        }
      };
      add("query", pairs[i]->levels_query);
      add("key", pairs[i]->levels_key);
    }
  }
  folder.add_table(run_files::kInvarianceLevels, std::move(table));
}

// Mean over the heads for which a figure is defined.
double mean_of(const Table& table, const std::string& column) {
  double sum = 0;
  double count = 0;
  for (const double value : std::get<std::vector<double>>(table.values(table.find(column).value()))) {
    if (std::isnan(value)) continue;
    sum += value;
    ++count;
  }
  return sum / count;
}

std::string number_text(double value) {
  return std::isnan(value) ? "-" : fmt::format("{:.2f}", value);
}

// The exponents found, and those under shuffled trees.
std::string alpha_line(const std::array<double, 3>& found, const std::array<double, 3>& shuffled) {
  if (std::isnan(found[0])) return fmt::format("{:<12} not fitted: the trees have too few folders\n", "alpha");
  return fmt::format("{:<12} scores {}, softmax {}, residual {}; shuffled {}, {}, {}{}\n", "alpha",
                     number_text(found[0]), number_text(found[1]), number_text(found[2]), number_text(shuffled[0]),
                     number_text(shuffled[1]), number_text(shuffled[2]), found[0] <= 0 ? ": no regularity found" : "");
}

}  // namespace

void write(const SoftmaxOutcome& outcome, RunFolder& folder) {
  folder.add_table(run_files::kInvariance, invariance_table(outcome));
  add_levels(folder, outcome);
  Table inputs = make_table(run_files::kInvarianceInputs);
  for (const SoftmaxInput& input : outcome.inputs) {
    inputs.add_row({inputs.rows(), input.name, input.queries, input.keys, input.error, input.error_shuffled,
                    input.error_control, input.agreement, input.agreement_control});
  }
  folder.add_table(run_files::kInvarianceInputs, std::move(inputs));
}

std::string summary(const SoftmaxOutcome& outcome) {
  const Table table = invariance_table(outcome);
  const auto mean = [&](const std::string& column) { return mean_of(table, column); };
  const std::string control =
      std::isnan(outcome.inputs.front().error_control)
          ? ""
          : fmt::format("; permuted scores {:.3g}, {:.3g}", mean("error_first_control"), mean("error_second_control"));
  const std::vector<std::string> concluded = verdict(outcome);
  std::string text = concluded.empty() ? "" : fmt::format("{}\n\n", fmt::join(concluded, "\n"));
  text += fmt::format("{:<12} {} heads, {} queries x {} keys\n", "scores", outcome.heads.size(),
                      outcome.maps.query_names.size(), outcome.maps.key_names.size());
  if (outcome.inputs.size() > 1) {
    text += fmt::format("{:<12} {}; the rest is of the first\n", "inputs", outcome.inputs.size());
  }
  text += fmt::format("{:<12} {:.3g} first order, {:.3g} second (shuffled trees {:.3g}, {:.3g}{})\n", "error",
                      mean("error_first"), mean("error_second"), mean("error_first_shuffled"),
                      mean("error_second_shuffled"), control);
  text += alpha_line({mean("alpha_scores"), mean("alpha_softmax"), mean("alpha_residual")},
                     {mean("alpha_scores_shuffled"), mean("alpha_softmax_shuffled"), mean("alpha_residual_shuffled")});
  for (const std::string pair : kPairs) {
    const auto of = [&](const char* figure) { return number_text(mean(pair + figure)); };
    text += fmt::format("{:<12} {}: affinities {} {}, Rand index {} {}, cophenetic {} {}\n",
                        pair == kPairs.front() ? "agreement" : "", pair, of("_affinity_query"), of("_affinity_key"),
                        of("_rand_query"), of("_rand_key"), of("_cophenetic_query"), of("_cophenetic_key"));
  }
  if (outcome.heads.size() > 1) text += fmt::format("{:<12} means over heads; query, then key\n", "");
  for (const std::string& one : outcome.left_out) text += fmt::format("{:<12} left out: {}\n", "note", one);
  for (const std::string& note : outcome.maps.notes) text += fmt::format("{:<12} {}\n", "note", note);
  return text + "\n" + app::files_line(outcome.files);
}

std::string to_json(const SoftmaxOutcome& outcome) {
  const Table table = invariance_table(outcome);
  Json heads = Json::array();
  for (std::size_t row = 0; row < table.rows(); ++row) {
    Json object = {{"head", outcome.heads[row].head}};
    for (std::size_t i = 1; i < table.columns().size(); ++i) {
      object[table.columns()[i].name] = app::number(std::get<std::vector<double>>(table.values(i))[row]);
    }
    heads.push_back(std::move(object));
  }
  Json inputs = Json::array();
  for (const SoftmaxInput& input : outcome.inputs) {
    inputs.push_back({{"name", input.name},
                      {"queries", input.queries},
                      {"keys", input.keys},
                      {"error", app::number(input.error)},
                      {"error_shuffled", app::number(input.error_shuffled)},
                      {"error_control", app::number(input.error_control)},
                      {"agreement", app::number(input.agreement)},
                      {"agreement_control", app::number(input.agreement_control)}});
  }
  Json root = {
      {"verdict", verdict(outcome)},           {"inputs", inputs},    {"queries", outcome.maps.query_names.size()},
      {"keys", outcome.maps.key_names.size()}, {"invariance", heads}, {"notes", outcome.maps.notes}};
  return app::json_text(std::move(root), outcome.files);
}

}  // namespace headscope
