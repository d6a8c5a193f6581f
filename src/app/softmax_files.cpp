#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/json_text.h"
#include "app/run_output.h"
#include "headscope/app/softmax.h"
#include "headscope/run/schema.h"

namespace headscope {
namespace {

using app::Json;

constexpr std::array<const char*, 4> kParts = {"scores", "softmax", "approximation", "residual"};
constexpr std::array<const char*, 3> kPairs = {"scores_softmax", "scores_approximation", "softmax_approximation"};

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
    for (const Regularity* one : regularities(head.found)) cells.insert(cells.end(), {one->alpha, one->low, one->high});
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

}  // namespace

void write(const SoftmaxOutcome& outcome, RunFolder& folder) {
  folder.add_table(run_files::kInvariance, invariance_table(outcome));
  add_levels(folder, outcome);
}

std::string summary(const SoftmaxOutcome& outcome) {
  const Table table = invariance_table(outcome);
  const auto mean = [&](const std::string& column) { return mean_of(table, column); };
  std::string text = fmt::format("{:<12} {} heads, {} queries x {} keys\n", "scores", outcome.heads.size(),
                                 outcome.maps.query_names.size(), outcome.maps.key_names.size());
  text += fmt::format("{:<12} {:.3g} first order, {:.3g} second (shuffled trees {:.3g}, {:.3g})\n", "error",
                      mean("error_first"), mean("error_second"), mean("error_first_shuffled"),
                      mean("error_second_shuffled"));
  text += fmt::format(
      "{:<12} scores {:.2f}, softmax {:.2f}, residual {:.2f} (theory: {:.2f}); shuffled {:.2f}, {:.2f}, {:.2f}\n",
      "alpha", mean("alpha_scores"), mean("alpha_softmax"), mean("alpha_residual"), 2 * mean("alpha_scores"),
      mean("alpha_scores_shuffled"), mean("alpha_softmax_shuffled"), mean("alpha_residual_shuffled"));
  for (const std::string pair : kPairs) {
    text += fmt::format("{:<12} {}: affinities {:.2f} {:.2f}, Rand index {:.2f} {:.2f}, cophenetic {:.2f} {:.2f}\n",
                        pair == kPairs.front() ? "agreement" : "", pair, mean(pair + "_affinity_query"),
                        mean(pair + "_affinity_key"), mean(pair + "_rand_query"), mean(pair + "_rand_key"),
                        mean(pair + "_cophenetic_query"), mean(pair + "_cophenetic_key"));
  }
  if (outcome.heads.size() > 1) text += fmt::format("{:<12} means over heads; query, then key\n", "");
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
  Json root = {{"queries", outcome.maps.query_names.size()},
               {"keys", outcome.maps.key_names.size()},
               {"invariance", heads},
               {"notes", outcome.maps.notes}};
  return app::json_text(std::move(root), outcome.files);
}

}  // namespace headscope
