#include "cli/organize_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "headscope/base/error.h"
#include "headscope/io/csv.h"
#include "headscope/organize/tensor_haar.h"
#include "headscope/tree/tree_json.h"

namespace headscope::cli {
namespace {

using Json = nlohmann::ordered_json;
using Cells = std::vector<std::string>;

void add_table(RunFolder& run, const std::string& name, const std::string& about, const CsvTable& table) {
  run.add_text({.name = name, .kind = "table", .about = about, .shape = {table.rows(), table.columns()}}, table.text());
}

std::vector<float> as_floats(const DoubleMatrix& matrix) {
  return {matrix.values().begin(), matrix.values().end()};
}

void add_axis(RunFolder& run, TensorAxis axis, const AxisOrganization& organized, const DiffusionMap& embedding,
              const std::vector<std::string>& names) {
  const std::string word(to_string(axis));
  const std::size_t n = organized.tree.size();
  run.add_text({.name = "trees/" + word + ".json",
                .kind = "tree",
                .about = fmt::format("The partition tree of the {} axis, root first, leaves last.", word),
                .shape = {n}},
               to_json(organized.tree, names));
  run.add_array({.name = "affinity/" + word + ".npy",
                 .kind = "array",
                 .about = fmt::format("Affinity exp(-EMD / (epsilon * median)) the {} tree was made from.", word),
                 .shape = {n, n},
                 .axes = {word, word}},
                as_floats(organized.affinity));
  run.add_array({.name = "embedding/" + word + ".npy",
                 .kind = "array",
                 .about = fmt::format("Diffusion map of the {} axis: leading non-trivial coordinates.", word),
                 .shape = {n, embedding.coordinates.columns()},
                 .axes = {word, "coordinate"}},
                as_floats(embedding.coordinates));
  const std::vector<std::int64_t> order(organized.tree.order().begin(), organized.tree.order().end());
  run.add_array({.name = "order/" + word + ".npy",
                 .kind = "array",
                 .about = fmt::format("The {} elements in the order of the leaves of their tree.", word),
                 .shape = {n},
                 .axes = {word}},
                order);
}

void add_sparsity(RunFolder& run, const Sparsity& sparsity) {
  Cells header = {"name", "gain", "gains"};
  for (const char* figure : sparsity_names()) {
    for (const char* part : {"", "_shuffled", "_shuffled_low", "_shuffled_high"}) {
      header.push_back(std::string(figure) + part);
    }
  }
  header.insert(header.end(), {"alpha_low", "alpha_high"});
  CsvTable table(header);
  CsvTable decay({"name", "rank", "found", "shuffled"});
  const auto add = [&](const SparsityRow& row) {
    Cells cells = {row.name, csv_number(row.gain()), row.gains() ? "yes" : "no"};
    const auto found = as_list(row.found);
    const auto mean = as_list(row.mean);
    const auto low = as_list(row.low);
    const auto high = as_list(row.high);
    for (std::size_t i = 0; i < found.size(); ++i) {
      for (const double value : {found[i], mean[i], low[i], high[i]}) cells.push_back(csv_number(value));
    }
    cells.push_back(csv_number(row.alpha_low));
    cells.push_back(csv_number(row.alpha_high));
    table.add_row(cells);
    for (const DecayPoint& point : row.decay) {
      decay.add_row(Cells{row.name, std::to_string(point.rank), csv_number(point.found), csv_number(point.shuffled)});
    }
  };
  add(sparsity.network);
  for (const SparsityRow& row : sparsity.heads) add(row);
  add_table(
      run, "sparsity.csv",
      "How few Haar coefficients hold the network (tri-Haar) and each head (bi-Haar), beside shuffled trees: mean "
      "and where another draw lies with 95 %; gain is l1 shuffled over l1 found.",
      table);
  add_table(run, "decay.csv", "Sorted magnitudes of the coefficients over their l2 norm, the constant left out.",
            decay);
}

void add_convergence(RunFolder& run, const Organization& organization, const std::vector<DiffusionMap>& embeddings) {
  CsvTable table({"iteration", "score"});
  for (std::size_t i = 0; i < organization.scores.size(); ++i) {
    table.add_row(Cells{std::to_string(i + 1), csv_number(organization.scores[i])});
  }
  add_table(run, "convergence.csv", "Sum of |Haar coefficients| after each iteration of the questionnaire.", table);
  CsvTable spectrum({"axis", "rank", "eigenvalue"});
  for (const TensorAxis axis : kTensorAxes) {
    const auto& values = embeddings[static_cast<std::size_t>(axis)].spectrum;
    for (std::size_t k = 0; k < values.size(); ++k) {
      spectrum.add_row(Cells{std::string(to_string(axis)), std::to_string(k + 1), csv_number(values[k])});
    }
  }
  add_table(run, "embedding/spectrum.csv", "Eigenvalues of the Markov matrices next to the first, by magnitude.",
            spectrum);
}

std::string mask_text(const MapSource& source) {
  return source.tensor.masked() ? fmt::format("{:.0f} % of the entries absent", 100 * source.absent) : "no mask";
}

// The largest folders of the level with the number of folders nearest to four.
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
  if (!(row.found.alpha == row.found.alpha)) return "too few coefficients for an exponent";
  return fmt::format("alpha {:.2f} ({:.2f} to {:.2f}; shuffled {:.2f})", row.found.alpha, row.alpha_low, row.alpha_high,
                     row.mean.alpha);
}

std::vector<std::string> all_notes(const MapSource& source, const OrganizeResult& result) {
  std::vector<std::string> notes = source.tensor.notes;
  notes.insert(notes.end(), result.organization.notes.begin(), result.organization.notes.end());
  return notes;
}

// Heads by gain, largest first.
std::vector<const SparsityRow*> by_gain(const Sparsity& sparsity) {
  std::vector<const SparsityRow*> rows;
  for (const SparsityRow& row : sparsity.heads) rows.push_back(&row);
  std::ranges::stable_sort(rows, [](const auto* a, const auto* b) { return a->gain() > b->gain(); });
  return rows;
}

}  // namespace

void add_organize_files(RunFolder& run, const MapSource& source, const OrganizeResult& result) {
  const Organization& o = result.organization;
  add_axis(run, TensorAxis::kHead, o.head, result.embeddings[0], source.head_names);
  add_axis(run, TensorAxis::kQuery, o.query, result.embeddings[1], source.query_names);
  add_axis(run, TensorAxis::kKey, o.key, result.embeddings[2], source.key_names);
  add_sparsity(run, result.sparsity);
  add_convergence(run, o, result.embeddings);
}

void add_haar_file(RunFolder* run, const TensorShare& tensor, const Organization& organization) {
  const HaarBasis head(organization.head.tree);
  const HaarBasis query(organization.query.tree);
  const HaarBasis key(organization.key.tree);
  std::optional<RunArray> array;
  if (run != nullptr) {
    array = run->add_array({.name = "haar/network.npy",
                            .kind = "array",
                            .about = "Tri-Haar coefficients of the network tensor; coefficient 0 of an axis is the "
                                     "constant, then contrasts folder by folder from the root down.",
                            .shape = {tensor.heads(), tensor.own().queries(), tensor.own().keys()},
                            .axes = {"head coefficient", "query coefficient", "key coefficient"}},
                           RunFloat::kF32);
  }
  stream_coefficients(tensor, {tensor.extents(), {&head, &query, &key}},
                      [&](std::size_t first, std::span<const float> values) { array->write(first, values); });
}

void print_organize_summary(std::ostream& out, const MapSource& source, const OrganizeResult& result) {
  const NetworkTensor& tensor = source.tensor;
  const Organization& o = result.organization;
  out << fmt::format("{:<12} {} heads x {} queries x {} keys, {}, {}\n", "tensor", source.head_names.size(),
                     tensor.queries(), tensor.keys(), tensor.kind == MapKind::kPattern ? "pattern" : "scores",
                     mask_text(source));
  std::vector<std::string> scores;
  for (const double score : o.scores) scores.push_back(fmt::format("{:.5g}", score));
  out << fmt::format("{:<12} {}{}\n", "score", fmt::join(scores, " > "), o.stopped_early ? ", stopped early" : "");
  for (const TensorAxis axis : kTensorAxes) {
    const PartitionTree& tree = o.axis(axis).tree;
    if (tree.size() == 1) continue;
    const auto& names = axis == TensorAxis::kHead    ? source.head_names
                        : axis == TensorAxis::kQuery ? source.query_names
                                                     : source.key_names;
    out << fmt::format("{:<12} {} levels; {}\n", std::string(to_string(axis)) + " tree", tree.level_count(),
                       groups_text(tree, names));
  }
  const SparsityRow& network = result.sparsity.network;
  out << fmt::format("{:<12} l1 {:.4g}, shuffled {:.4g} ({:.4g} to {:.4g}): {}\n", "network", network.found.l1,
                     network.mean.l1, network.low.l1, network.high.l1,
                     network.gains() ? fmt::format("the organization gains {:.2f} times", network.gain())
                                     : "no gain over shuffled trees");
  out << fmt::format("{:<12} 99 % of the energy in {:.2f} % of the coefficients (shuffled {:.2f} %); {}\n", "",
                     100 * network.found.needed_99, 100 * network.mean.needed_99, alpha_text(network));
  const auto rows = by_gain(result.sparsity);
  const auto gaining = std::ranges::count_if(rows, [](const auto* row) { return row->gains(); });
  std::vector<std::string> best;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, rows.size()) && rows[i]->gains(); ++i) {
    best.push_back(fmt::format("{} ({:.2f}x, {})", rows[i]->name, rows[i]->gain(), alpha_text(*rows[i])));
  }
  out << fmt::format("{:<12} {} of {} gain{}{}\n", "heads", gaining, rows.size(), best.empty() ? "" : ": ",
                     fmt::join(best, ", "));
  for (const std::string& note : all_notes(source, result)) out << fmt::format("{:<12} {}\n", "note", note);
}

void print_organize_json(std::ostream& out, const MapSource& source, const OrganizeResult& result,
                         const std::vector<std::string>& files, double seconds) {
  const NetworkTensor& tensor = source.tensor;
  const auto figures = [](const SparsityRow& row) {
    Json object = {{"name", row.name}, {"gain", row.gain()}, {"gains", row.gains()}};
    const auto found = as_list(row.found);
    const auto mean = as_list(row.mean);
    for (std::size_t i = 0; i < found.size(); ++i) {
      object[sparsity_names()[i]] = {{"found", found[i]}, {"shuffled", mean[i]}};  // NaN becomes null
    }
    return object;
  };
  Json heads = Json::array();
  for (const SparsityRow& row : result.sparsity.heads) heads.push_back(figures(row));
  Json levels = Json::object();
  for (const TensorAxis axis : kTensorAxes) levels[to_string(axis)] = result.organization.axis(axis).tree.level_count();
  const Json root = {{"heads", source.head_names.size()},
                     {"queries", tensor.queries()},
                     {"keys", tensor.keys()},
                     {"what", tensor.kind == MapKind::kPattern ? "pattern" : "scores"},
                     {"scores", result.organization.scores},
                     {"stopped_early", result.organization.stopped_early},
                     {"levels", levels},
                     {"network", figures(result.sparsity.network)},
                     {"sparsity", heads},
                     {"notes", all_notes(source, result)},
                     {"files", files},
                     {"seconds", seconds}};
  out << root.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace headscope::cli
