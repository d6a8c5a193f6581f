#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "app/json_text.h"
#include "app/run_output.h"
#include "headscope/app/organize.h"
#include "headscope/base/error.h"
#include "headscope/run/schema.h"
#include "headscope/run/schema/organize.h"
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

// The index of a head's row of `all_rows`; nothing for the network.
std::optional<std::size_t> head_of(std::size_t row) {
  return row == 0 ? std::nullopt : std::optional(row - 1);
}

// The range of a gain over inputs and draws.
Gain overall_gain(const OrganizeOutcome& outcome, RowPermutation kind, std::optional<std::size_t> head) {
  Gain result = outcome.inputs.front().gain(kind, head);
  for (const OrganizedInput& input : outcome.inputs) {
    const Gain one = input.gain(kind, head);
    result.low = std::min(result.low, one.low);
    result.high = std::max(result.high, one.high);
  }
  return result;
}

// Mean of the figures of the controls with the same mask and row values.
std::vector<double> control_figures(const OrganizedInput& input, std::optional<std::size_t> head) {
  std::vector<double> mean(sparsity_names().size(), input.rows.empty() ? std::nan("") : 0);
  for (const ControlDraw& draw : input.rows) {
    const auto list = as_list(head ? draw.figures.heads[*head] : draw.figures.network);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += list[i] / static_cast<double>(input.rows.size());
  }
  return mean;
}

void add_sparsity(RunFolder& folder, const OrganizeOutcome& outcome) {
  const std::vector<std::string> figures(sparsity_names().begin(), sparsity_names().end());
  Table table = make_table(run_files::kSparsity, {{"figure", figures}});
  Table decay = make_table(run_files::kDecay);
  const OrganizedInput& first = outcome.inputs.front();
  const std::vector<const SparsityRow*> rows = all_rows(outcome.sparsity);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const SparsityRow* row = rows[r];
    const auto head = head_of(r);
    const Gain gain = overall_gain(outcome, RowPermutation::kRows, head);
    std::vector<Cell> cells = {
        row->name,         gain.mean,  gain.low, gain.high, first.gain(RowPermutation::kKeys, head).mean,
        first.gains(head), row->gain()};
    const auto found = as_list(row->found);
    const auto control = control_figures(first, head);
    const auto mean = as_list(row->mean);
    const auto low = as_list(row->low);
    const auto high = as_list(row->high);
    for (std::size_t i = 0; i < found.size(); ++i) {
      cells.insert(cells.end(), {found[i], control[i], mean[i], low[i], high[i]});
    }
    table.add_row(cells);
    for (const DecayPoint& point : row->decay) {
      decay.add_row({row->name, point.rank, point.found, point.shuffled});
    }
  }
  folder.add_table(run_files::kSparsity, std::move(table));
  folder.add_table(run_files::kDecay, std::move(decay));
}

void add_inputs(RunFolder& folder, const OrganizeOutcome& outcome) {
  Table inputs = make_table(run_files::kOrganizedInputs);
  for (const OrganizedInput& input : outcome.inputs) {
    inputs.add_row({inputs.rows(), input.name, input.queries, input.keys, input.found.network.l1,
                    control_figures(input, {}).front(), input.gain(RowPermutation::kRows).mean,
                    input.gain(RowPermutation::kKeys).mean, input.gains(), input.heads_gaining(),
                    input.found.network.alpha});
  }
  folder.add_table(run_files::kOrganizedInputs, std::move(inputs));
  if (outcome.inputs.size() < 2) return;
  Table stability = make_table(run_files::kStability);
  for (const TreeStability& one : outcome.stability) {
    stability.add_row({to_string(one.axis), one.input_a, one.input_b, one.found, one.control});
  }
  folder.add_table(run_files::kStability, std::move(stability));
  if (!outcome.consensus) return;
  folder.add_text(describe(run_files::kConsensusTree, {}, {outcome.consensus->size()}),
                  to_json(*outcome.consensus, outcome.maps.head_names));
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
  if (row.found.alpha <= 0) return fmt::format("no regularity found (alpha {:.2f})", row.found.alpha);
  return fmt::format("alpha {:.2f} (shuffled {:.2f}; biased low, no interval)", row.found.alpha, row.mean.alpha);
}

std::vector<std::string> all_notes(const OrganizeOutcome& outcome) {
  std::vector<std::string> notes = outcome.maps.notes;
  notes.insert(notes.end(), outcome.organization.notes.begin(), outcome.organization.notes.end());
  for (const std::string& one : outcome.left_out) notes.push_back("left out: " + one);
  return notes;
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

// "1.42", or "1.42 (1.36 to 1.50)" if there are several inputs or draws.
std::string gain_text(const Gain& gain) {
  if (gain.low == gain.high) return fmt::format("{:.2f}", gain.mean);
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", gain.mean, gain.low, gain.high);
}

std::string sparsity_lines(const OrganizeOutcome& outcome) {
  const SparsityRow& network = outcome.sparsity.network;
  const OrganizedInput& first = outcome.inputs.front();
  std::string lines = fmt::format("{:<12} l1 {:.4g}; shuffled trees {:.4g} ({:.4g} to {:.4g})\n", "network",
                                  network.found.l1, network.mean.l1, network.low.l1, network.high.l1);
  if (!first.rows.empty()) {
    lines += fmt::format(
        "{:<12} gain {} over maps with the same mask and row values, {} over maps that also keep the "
        "mean attention to each key\n",
        "", gain_text(overall_gain(outcome, RowPermutation::kRows, {})),
        gain_text(overall_gain(outcome, RowPermutation::kKeys, {})));
  }
  lines += fmt::format("{:<12} 99 % of the energy in {:.2f} % of the coefficients (shuffled {:.2f} %); {}\n", "",
                       100 * network.found.needed_99, 100 * network.mean.needed_99, alpha_text(network));
  if (first.rows.empty()) return lines;
  std::vector<std::size_t> heads(outcome.sparsity.heads.size());
  std::iota(heads.begin(), heads.end(), std::size_t{0});
  const auto gain_of = [&](std::size_t h) { return first.gain(RowPermutation::kRows, h).mean; };
  std::ranges::stable_sort(heads, std::greater<>(), gain_of);
  std::vector<std::string> best;
  for (const std::size_t h : heads) {
    if (best.size() < 3 && first.gains(h)) {
      best.push_back(fmt::format("{} ({:.2f}x)", outcome.sparsity.heads[h].name, gain_of(h)));
    }
  }
  return lines + fmt::format("{:<12} {} of {} gain{}{}\n", "heads", first.heads_gaining(), heads.size(),
                             best.empty() ? "" : ", most of them: ", fmt::join(best, ", "));
}

// How well the trees of the heads agree between inputs.
std::string stability_lines(const OrganizeOutcome& outcome) {
  std::string lines;
  for (const TensorAxis axis : kTensorAxes) {
    double found = 0;
    double control = 0;
    double count = 0;
    for (const TreeStability& one : outcome.stability) {
      if (one.axis != axis || std::isnan(one.found)) continue;
      found += one.found;
      control += one.control;
      ++count;
    }
    if (count == 0) continue;
    lines += fmt::format("{:<12} {} trees of {} pairs of inputs: mean cophenetic correlation {:.2f}{}\n",
                         lines.empty() ? "stability" : "", to_string(axis), count, found / count,
                         std::isnan(control) ? "" : fmt::format(" (controls {:.2f})", control / count));
  }
  return lines;
}

Json figures_json(const OrganizeOutcome& outcome, const SparsityRow& row, std::optional<std::size_t> head) {
  const OrganizedInput& first = outcome.inputs.front();
  const Gain gain = overall_gain(outcome, RowPermutation::kRows, head);
  Json object = {{"name", row.name},
                 {"gain", app::number(gain.mean)},
                 {"gain_low", app::number(gain.low)},
                 {"gain_high", app::number(gain.high)},
                 {"gain_keys", app::number(first.gain(RowPermutation::kKeys, head).mean)},
                 {"gains", first.gains(head)},
                 {"gain_shuffled", app::number(row.gain())}};
  const auto found = as_list(row.found);
  const auto control = control_figures(first, head);
  const auto mean = as_list(row.mean);
  for (std::size_t i = 0; i < found.size(); ++i) {
    object[sparsity_names()[i]] = {
        {"found", app::number(found[i])}, {"control", app::number(control[i])}, {"shuffled", app::number(mean[i])}};
  }
  return object;
}

const char* text_of(MapKind what) {
  return what == MapKind::kPattern ? "pattern" : "scores";
}

}  // namespace

void write(const OrganizeOutcome& outcome, RunFolder& folder) {
  for (const TensorAxis axis : kTensorAxes) add_axis(folder, outcome, axis);
  add_sparsity(folder, outcome);
  add_inputs(folder, outcome);
  add_convergence(folder, outcome);
}

std::string summary(const OrganizeOutcome& outcome) {
  const MapInfo& maps = outcome.maps;
  const Organization& organization = outcome.organization;
  const std::string mask =
      maps.masked ? fmt::format("{:.0f} % of the entries absent", 100 * maps.absent) : std::string("no mask");
  const std::vector<std::string> concluded = verdict(outcome);
  std::string text = concluded.empty() ? "" : fmt::format("{}\n\n", fmt::join(concluded, "\n"));
  text += fmt::format("{:<12} {} heads x {} queries x {} keys, {}, {}\n", "tensor", maps.head_names.size(),
                      maps.query_names.size(), maps.key_names.size(), text_of(maps.what), mask);
  if (outcome.inputs.size() > 1) {
    text += fmt::format("{:<12} {}; trees, embeddings and sparsity are those of the first\n", "inputs",
                        outcome.inputs.size());
  }
  std::vector<std::string> scores;
  for (const double score : organization.scores) scores.push_back(fmt::format("{:.5g}", score));
  text += fmt::format("{:<12} {}{}\n", "score", fmt::join(scores, ", "),
                      organization.stopped_early ? ", stopped early" : "");
  text += tree_lines(outcome) + sparsity_lines(outcome) + stability_lines(outcome);
  for (const std::string& note : all_notes(outcome)) text += fmt::format("{:<12} {}\n", "note", note);
  return text + "\n" + app::files_line(outcome.files);
}

std::string to_json(const OrganizeOutcome& outcome) {
  Json heads = Json::array();
  for (std::size_t h = 0; h < outcome.sparsity.heads.size(); ++h) {
    heads.push_back(figures_json(outcome, outcome.sparsity.heads[h], h));
  }
  Json inputs = Json::array();
  for (const OrganizedInput& input : outcome.inputs) {
    inputs.push_back({{"name", input.name},
                      {"queries", input.queries},
                      {"keys", input.keys},
                      {"gain", app::number(input.gain(RowPermutation::kRows).mean)},
                      {"gain_keys", app::number(input.gain(RowPermutation::kKeys).mean)},
                      {"gains", input.gains()}});
  }
  Json levels = Json::object();
  for (const TensorAxis axis : kTensorAxes) {
    levels[to_string(axis)] = outcome.organization.axis(axis).tree.level_count();
  }
  Json root = {{"verdict", verdict(outcome)},
               {"heads", outcome.maps.head_names.size()},
               {"queries", outcome.maps.query_names.size()},
               {"keys", outcome.maps.key_names.size()},
               {"what", text_of(outcome.maps.what)},
               {"scores", outcome.organization.scores},
               {"stopped_early", outcome.organization.stopped_early},
               {"levels", levels},
               {"network", figures_json(outcome, outcome.sparsity.network, {})},
               {"inputs", inputs},
               {"sparsity", heads},
               {"notes", all_notes(outcome)}};
  return app::json_text(std::move(root), outcome.files);
}

}  // namespace headscope
