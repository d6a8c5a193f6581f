#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/json_text.h"
#include "app/run_output.h"
#include "headscope/app/organize.h"
#include "headscope/base/error.h"
#include "headscope/run/schema.h"
#include "headscope/tree/tree_json.h"

namespace headscope {
namespace {

using app::Json;

std::vector<float> as_floats(const DoubleMatrix& matrix) {
  return {matrix.values().begin(), matrix.values().end()};
}

const std::vector<std::string>& names_of(const MapInfo& maps, TensorAxis axis) {
  return axis == TensorAxis::kHead ? maps.head_names : axis == TensorAxis::kQuery ? maps.query_names : maps.key_names;
}

void add_axis(RunFolder& folder, const OrganizeOutcome& outcome, TensorAxis axis) {
  const AxisOrganization& organized = outcome.organization.axis(axis);
  const DoubleMatrix& coordinates = outcome.embeddings[static_cast<std::size_t>(axis)].coordinates;
  const Placeholders name = {{"axis", std::string(to_string(axis))}};
  const std::size_t n = organized.tree.size();
  folder.add_text(describe(run_files::kAxisTree, name, {n}), to_json(organized.tree, names_of(outcome.maps, axis)));
  folder.add_array(describe(run_files::kAxisAffinity, name, {n, n}), as_floats(organized.affinity));
  folder.add_array(describe(run_files::kAxisEmbedding, name, {n, coordinates.columns()}), as_floats(coordinates));
  const std::vector<std::int64_t> order(organized.tree.order().begin(), organized.tree.order().end());
  folder.add_array(describe(run_files::kAxisOrder, name, {n}), order);
}

// The network first, then its heads.
std::vector<const SparsityRow*> all_rows(const Sparsity& sparsity) {
  std::vector<const SparsityRow*> rows = {&sparsity.network};
  for (const SparsityRow& row : sparsity.heads) rows.push_back(&row);
  return rows;
}

void add_sparsity(RunFolder& folder, const Sparsity& sparsity) {
  const std::vector<std::string> figures(sparsity_names().begin(), sparsity_names().end());
  Table table = make_table(run_files::kSparsity, {{"figure", figures}});
  Table decay = make_table(run_files::kDecay);
  for (const SparsityRow* row : all_rows(sparsity)) {
    std::vector<Cell> cells = {row->name, row->gain(), row->gains()};
    const auto found = as_list(row->found);
    const auto mean = as_list(row->mean);
    const auto low = as_list(row->low);
    const auto high = as_list(row->high);
    for (std::size_t i = 0; i < found.size(); ++i) cells.insert(cells.end(), {found[i], mean[i], low[i], high[i]});
    cells.insert(cells.end(), {row->alpha_low, row->alpha_high});
    table.add_row(cells);
    for (const DecayPoint& point : row->decay) {
      decay.add_row({row->name, point.rank, point.found, point.shuffled});
    }
  }
  folder.add_table(run_files::kSparsity, std::move(table));
  folder.add_table(run_files::kDecay, std::move(decay));
}

void add_convergence(RunFolder& folder, const OrganizeOutcome& outcome) {
  Table table = make_table(run_files::kConvergence);
  for (const double score : outcome.organization.scores) table.add_row({table.rows() + 1, score});
  folder.add_table(run_files::kConvergence, std::move(table));
  Table spectrum = make_table(run_files::kSpectrum);
  for (const TensorAxis axis : kTensorAxes) {
    const auto& values = outcome.embeddings[static_cast<std::size_t>(axis)].spectrum;
    for (std::size_t k = 0; k < values.size(); ++k) spectrum.add_row({to_string(axis), k + 1, values[k]});
  }
  folder.add_table(run_files::kSpectrum, std::move(spectrum));
}

// The folders of the last level that has at most five of them, with their first elements.
std::string groups_text(const PartitionTree& tree, const std::vector<std::string>& names) {
  std::size_t level = 0;
  for (std::size_t k = 1; k < tree.level_count(); ++k) {
    if (tree.folders(k).size() <= 5) level = k;
  }
  std::vector<std::string> groups;
  for (const PartitionTree::Folder& folder : tree.folders(level)) {
    const auto elements = tree.elements(folder);
    std::vector<std::size_t> sorted(elements.begin(), elements.end());
    std::ranges::sort(sorted);
    std::vector<std::string> some;
    for (std::size_t i = 0; i < std::min<std::size_t>(4, sorted.size()); ++i)
      some.push_back(printable(names[sorted[i]], 20));
    groups.push_back(
        fmt::format("{{{}{}}}", fmt::join(some, " "), sorted.size() > 4 ? fmt::format(" +{}", sorted.size() - 4) : ""));
  }
  return fmt::format("{}", fmt::join(groups, " "));
}

std::string alpha_text(const SparsityRow& row) {
  if (std::isnan(row.found.alpha)) return "too few coefficients for an exponent";
  return fmt::format("alpha {:.2f} ({:.2f} to {:.2f}; shuffled {:.2f})", row.found.alpha, row.alpha_low, row.alpha_high,
                     row.mean.alpha);
}

std::vector<std::string> all_notes(const OrganizeOutcome& outcome) {
  std::vector<std::string> notes = outcome.maps.notes;
  notes.insert(notes.end(), outcome.organization.notes.begin(), outcome.organization.notes.end());
  return notes;
}

// Heads by gain, largest first.
std::vector<const SparsityRow*> by_gain(const Sparsity& sparsity) {
  std::vector<const SparsityRow*> rows;
  for (const SparsityRow& row : sparsity.heads) rows.push_back(&row);
  std::ranges::stable_sort(rows, [](const auto* a, const auto* b) { return a->gain() > b->gain(); });
  return rows;
}

std::string tree_lines(const OrganizeOutcome& outcome) {
  std::string lines;
  for (const TensorAxis axis : kTensorAxes) {
    const PartitionTree& tree = outcome.organization.axis(axis).tree;
    if (tree.size() == 1) continue;
    lines += fmt::format("{:<12} {} levels; {}\n", std::string(to_string(axis)) + " tree", tree.level_count(),
                         groups_text(tree, names_of(outcome.maps, axis)));
  }
  return lines;
}

std::string sparsity_lines(const Sparsity& sparsity) {
  const SparsityRow& network = sparsity.network;
  std::string lines = fmt::format("{:<12} l1 {:.4g}, shuffled {:.4g} ({:.4g} to {:.4g}): {}\n", "network",
                                  network.found.l1, network.mean.l1, network.low.l1, network.high.l1,
                                  network.gains() ? fmt::format("the organization gains {:.2f} times", network.gain())
                                                  : "no gain over shuffled trees");
  lines += fmt::format("{:<12} 99 % of the energy in {:.2f} % of the coefficients (shuffled {:.2f} %); {}\n", "",
                       100 * network.found.needed_99, 100 * network.mean.needed_99, alpha_text(network));
  const auto rows = by_gain(sparsity);
  const auto gaining = std::ranges::count_if(rows, [](const auto* row) { return row->gains(); });
  std::vector<std::string> best;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, rows.size()) && rows[i]->gains(); ++i) {
    best.push_back(fmt::format("{} ({:.2f}x, {})", rows[i]->name, rows[i]->gain(), alpha_text(*rows[i])));
  }
  return lines + fmt::format("{:<12} {} of {} gain{}{}\n", "heads", gaining, rows.size(), best.empty() ? "" : ": ",
                             fmt::join(best, ", "));
}

Json figures_json(const SparsityRow& row) {
  Json object = {{"name", row.name}, {"gain", app::number(row.gain())}, {"gains", row.gains()}};
  const auto found = as_list(row.found);
  const auto mean = as_list(row.mean);
  for (std::size_t i = 0; i < found.size(); ++i) {
    object[sparsity_names()[i]] = {{"found", app::number(found[i])}, {"shuffled", app::number(mean[i])}};
  }
  return object;
}

const char* text_of(MapKind what) {
  return what == MapKind::kPattern ? "pattern" : "scores";
}

}  // namespace

void write(const OrganizeOutcome& outcome, RunFolder& folder) {
  for (const TensorAxis axis : kTensorAxes) add_axis(folder, outcome, axis);
  add_sparsity(folder, outcome.sparsity);
  add_convergence(folder, outcome);
}

std::string summary(const OrganizeOutcome& outcome) {
  const MapInfo& maps = outcome.maps;
  const Organization& organization = outcome.organization;
  const std::string mask =
      maps.masked ? fmt::format("{:.0f} % of the entries absent", 100 * maps.absent) : std::string("no mask");
  std::string text = fmt::format("{:<12} {} heads x {} queries x {} keys, {}, {}\n", "tensor", maps.head_names.size(),
                                 maps.query_names.size(), maps.key_names.size(), text_of(maps.what), mask);
  std::vector<std::string> scores;
  for (const double score : organization.scores) scores.push_back(fmt::format("{:.5g}", score));
  text += fmt::format("{:<12} {}{}\n", "score", fmt::join(scores, " > "),
                      organization.stopped_early ? ", stopped early" : "");
  text += tree_lines(outcome) + sparsity_lines(outcome.sparsity);
  for (const std::string& note : all_notes(outcome)) text += fmt::format("{:<12} {}\n", "note", note);
  return text + "\n" + app::files_line(outcome.files);
}

std::string to_json(const OrganizeOutcome& outcome) {
  Json heads = Json::array();
  for (const SparsityRow& row : outcome.sparsity.heads) heads.push_back(figures_json(row));
  Json levels = Json::object();
  for (const TensorAxis axis : kTensorAxes) {
    levels[to_string(axis)] = outcome.organization.axis(axis).tree.level_count();
  }
  Json root = {{"heads", outcome.maps.head_names.size()},
               {"queries", outcome.maps.query_names.size()},
               {"keys", outcome.maps.key_names.size()},
               {"what", text_of(outcome.maps.what)},
               {"scores", outcome.organization.scores},
               {"stopped_early", outcome.organization.stopped_early},
               {"levels", levels},
               {"network", figures_json(outcome.sparsity.network)},
               {"sparsity", heads},
               {"notes", all_notes(outcome)}};
  return app::json_text(std::move(root), outcome.files);
}

}  // namespace headscope
