#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>

#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/interrupt.h"
#include "cli/map_source.h"
#include "cli/progress.h"
#include "cli/run_output.h"
#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "headscope/base/system.h"
#include "headscope/io/csv.h"
#include "headscope/io/run_folder.h"
#include "headscope/organize/softmax_invariance.h"

namespace headscope::cli {
namespace {

using Cells = std::vector<std::string>;
using Json = nlohmann::ordered_json;

struct Args {
  MapSourceArgs source;
  std::filesystem::path run;
  std::optional<std::size_t> iterations;
  std::string boundary = "first";
  std::string keep;
  std::size_t draws = 3;
  std::uint64_t seed = 0;
  std::string memory = "8G";
  bool force = false;
  bool json = false;
};

SoftmaxOptions softmax_options(const Args& args) {
  SoftmaxOptions options;
  if (args.iterations) options.questionnaire.iterations = *args.iterations;
  options.boundary = args.boundary == "second" ? BoundaryOrder::kSecond : BoundaryOrder::kFirst;
  options.draws = args.draws;
  options.seed = args.seed;
  return options;
}

// Whether the arrays of heads are written: those of chosen heads, unless it is said otherwise.
bool keeps_arrays(const Args& args) {
  return args.keep.empty() ? !args.source.heads.empty() : args.keep == "all";
}

RunCommand describe_run(const Args& args, const MapSource& source, const SoftmaxOptions& options) {
  RunCommand command;
  command.name = "softmax";
  command.identity = {{"source", source.fingerprint},
                      {"maps", describe(args.source)},
                      {"iterations", std::to_string(options.questionnaire.iterations)},
                      {"boundary", args.boundary},
                      {"draws", std::to_string(args.draws)},
                      {"seed", std::to_string(args.seed)},
                      {"paraproduct", keeps_arrays(args) ? "all" : "none"},
                      {"version", HEADSCOPE_VERSION}};
  command.circumstances = {{"threads", std::to_string(thread_count())}, {"memory", args.memory}};
  return command;
}

// Names and numbers of one row, side by side.
struct Figures {
  Cells names;
  std::vector<double> values;

  void add(const std::string& name, double value) {
    names.push_back(name);
    values.push_back(value);
  }
  void add(const std::string& name, const Regularity& fit) {
    add("alpha_" + name, fit.alpha);
    add("alpha_" + name + "_low", fit.low);
    add("alpha_" + name + "_high", fit.high);
  }
  void add(const std::string& name, const OrganizationAgreement& pair) {
    add(name + "_affinity_query", pair.affinity_query);
    add(name + "_affinity_key", pair.affinity_key);
    add(name + "_rand_query", pair.rand_query);
    add(name + "_rand_key", pair.rand_key);
    add(name + "_cophenetic_query", pair.cophenetic_query);
    add(name + "_cophenetic_key", pair.cophenetic_key);
  }
};

Figures figures_of(const HeadInvariance& head) {
  Figures row;
  row.add("error_first", head.found.error_first);
  row.add("error_second", head.found.error_second);
  row.add("error_first_shuffled", head.shuffled.error_first);
  row.add("error_second_shuffled", head.shuffled.error_second);
  row.add("scores", head.found.scores);
  row.add("softmax", head.found.softmax);
  row.add("approximation", head.found.approximation);
  row.add("residual", head.found.residual);
  row.add("alpha_scores_shuffled", head.shuffled.scores.alpha);
  row.add("alpha_softmax_shuffled", head.shuffled.softmax.alpha);
  row.add("alpha_approximation_shuffled", head.shuffled.approximation.alpha);
  row.add("alpha_residual_shuffled", head.shuffled.residual.alpha);
  row.add("scores_softmax", head.scores_softmax);
  row.add("scores_approximation", head.scores_approximation);
  row.add("softmax_approximation", head.softmax_approximation);
  return row;
}

void add_levels(CsvTable& table, const std::string& head, const std::string& pair, const OrganizationAgreement& both) {
  const auto add = [&](const char* axis, const std::vector<LevelAgreement>& levels) {
    for (const LevelAgreement& one : levels) {
      table.add_row(Cells{head, pair, axis, std::to_string(one.level_a), std::to_string(one.level_b),
                          std::to_string(one.folders_a), std::to_string(one.folders_b), csv_number(one.rand_index)});
    }
  };
  add("query", both.levels_query);
  add("key", both.levels_key);
}

void add_arrays(RunFolder& run, const HeadInvariance& head) {
  const std::vector<std::pair<std::string, const DoubleMatrix*>> matrices = {
      {"scores", &head.scores},
      {"softmax", &head.parts.target},
      {"first_order", &head.parts.first_order},
      {"approximation", &head.parts.second_order}};
  run.add_matrices({.name = fmt::format("paraproduct/{}.npz", head.head),
                    .kind = "arrays",
                    .about = "Scores, their softmax, and its approximations by the tensor paraproduct.",
                    .shape = {head.scores.rows(), head.scores.columns()},
                    .axes = {"query", "key"}},
                   matrices);
}

// What is kept of a head until the end: its figures, not its matrices.
struct Row {
  std::string head;
  Figures figures;
};

double mean_of(const std::vector<Row>& rows, const std::string& name) {
  double sum = 0;
  double count = 0;
  for (const Row& row : rows) {
    const auto found = std::ranges::find(row.figures.names, name);
    if (found == row.figures.names.end()) throw std::logic_error("softmax: no figure is called " + name);
    const double value = row.figures.values[static_cast<std::size_t>(found - row.figures.names.begin())];
    if (std::isnan(value)) continue;
    sum += value;
    ++count;
  }
  return sum / count;
}

void print_summary(std::ostream& out, const MapSource& source, const std::vector<Row>& rows) {
  const auto mean = [&](const char* name) { return mean_of(rows, name); };
  out << fmt::format("{:<12} {} heads, {} queries x {} keys\n", "scores", rows.size(), source.tensor.queries(),
                     source.tensor.keys());
  out << fmt::format("{:<12} {:.3g} first order, {:.3g} second (shuffled trees {:.3g}, {:.3g})\n", "error",
                     mean("error_first"), mean("error_second"), mean("error_first_shuffled"),
                     mean("error_second_shuffled"));
  out << fmt::format(
      "{:<12} scores {:.2f}, softmax {:.2f}, residual {:.2f} (theory: {:.2f}); shuffled {:.2f}, {:.2f}, "
      "{:.2f}\n",
      "alpha", mean("alpha_scores"), mean("alpha_softmax"), mean("alpha_residual"), 2 * mean("alpha_scores"),
      mean("alpha_scores_shuffled"), mean("alpha_softmax_shuffled"), mean("alpha_residual_shuffled"));
  for (const char* pair : {"scores_softmax", "scores_approximation", "softmax_approximation"}) {
    const auto of = [&](const char* figure) { return mean_of(rows, fmt::format("{}_{}", pair, figure)); };
    out << fmt::format("{:<12} {}: affinities {:.2f} {:.2f}, Rand index {:.2f} {:.2f}, cophenetic {:.2f} {:.2f}\n",
                       std::string_view(pair) == "scores_softmax" ? "agreement" : "", pair, of("affinity_query"),
                       of("affinity_key"), of("rand_query"), of("rand_key"), of("cophenetic_query"),
                       of("cophenetic_key"));
  }
  if (rows.size() > 1) out << fmt::format("{:<12} means over heads; query, then key\n", "");
  for (const std::string& note : source.tensor.notes) out << fmt::format("{:<12} {}\n", "note", note);
}

void print_json(std::ostream& out, const MapSource& source, const std::vector<Row>& rows,
                const std::vector<std::string>& files, double seconds) {
  Json heads = Json::array();
  for (const Row& row : rows) {
    Json object = {{"head", row.head}};
    for (std::size_t i = 0; i < row.figures.names.size(); ++i) object[row.figures.names[i]] = row.figures.values[i];
    heads.push_back(std::move(object));
  }
  const Json root = {{"queries", source.tensor.queries()},
                     {"keys", source.tensor.keys()},
                     {"invariance", heads},
                     {"notes", source.tensor.notes},
                     {"files", files},
                     {"seconds", seconds}};
  out << root.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

void run_softmax(Args args, Session& session) {
  // Scores are there for all keys, and over all of them the differences of g are those of f.
  if (args.source.mask.empty()) args.source.mask = "none";
  const auto begin = std::chrono::steady_clock::now();
  watch_for_interrupts();
  const SoftmaxOptions options = softmax_options(args);
  const MapSource source = load_maps(args.source, /*keep_absent=*/true, parse_size(args.memory), session);
  RunFolder run = begin_run(session, args.run, describe_run(args, source, options), args.force);
  std::vector<Row> rows;
  CsvTable levels({"head", "pair", "axis", "level_a", "level_b", "folders_a", "folders_b", "rand_index"});
  {
    constexpr std::size_t kSteps = 1000;
    Progress progress(session, "taking softmaxes apart", kSteps);
    const auto heads = static_cast<double>(source.tensor.heads());
    const Context context = progress.context(parse_size(args.memory) / 2);
    for (std::size_t h = 0; h < source.tensor.heads(); ++h) {
      const Context part = context.part(static_cast<double>(h) / heads, static_cast<double>(h + 1) / heads);
      const HeadInvariance head = softmax_invariance(source.tensor, h, options, part);
      rows.push_back({head.head, figures_of(head)});
      add_levels(levels, head.head, "scores_softmax", head.scores_softmax);
      add_levels(levels, head.head, "scores_approximation", head.scores_approximation);
      add_levels(levels, head.head, "softmax_approximation", head.softmax_approximation);
      if (keeps_arrays(args)) add_arrays(run, head);
    }
  }
  Cells header = {"head"};
  header.insert(header.end(), rows.front().figures.names.begin(), rows.front().figures.names.end());
  CsvTable table(header);
  for (const Row& row : rows) {
    Cells cells = {row.head};
    for (const double value : row.figures.values) cells.push_back(csv_number(value));
    table.add_row(cells);
  }
  run.add_text(
      {.name = "invariance.csv",
       .kind = "table",
       .about = "For each head: errors of the paraproduct, fitted exponents with their 95 % intervals, both beside "
                "shuffled trees; agreement of the organizations of scores, softmax and approximation.",
       .shape = {table.rows(), table.columns()}},
      table.text());
  run.add_text({.name = "invariance_levels.csv",
                .kind = "table",
                .about = "Adjusted Rand index of the organizations, level by level.",
                .shape = {levels.rows(), levels.columns()}},
               levels.text());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  run.circumstances()["seconds"] = fmt::format("{:.2f}", seconds);
  run.circumstances()["peak_memory"] = std::to_string(peak_memory());
  check_for_interrupt();
  const std::vector<std::string> files = run.files();
  run.commit();
  if (args.json) return print_json(session.out, source, rows, files, seconds);
  print_summary(session.out, source, rows);
  session.out << fmt::format("\n{} files in {} ({:.1f} s)\n", files.size(), printable(run.path().string(), 4096),
                             seconds);
}

}  // namespace

void add_softmax_command(Command& app, Session& session) {
  auto args = std::make_shared<Args>();  // lives as long as the callback
  args->source.what = "scores";
  Command command =
      app.add_command("softmax", "Does the softmax keep the organization of the scores? The tensor paraproduct");
  add_map_source_options(command, args->source);
  command.add_option("-o,--output", args->run, "Folder for the results").required();
  command.add_option("--iterations", args->iterations, "Of the questionnaire in two axes (default 10)");
  command.add_option("--boundary", args->boundary, "Order of the differences along one axis: first or second")
      .one_of({"first", "second"})
      .with_default();
  command
      .add_option("--paraproduct", args->keep,
                  "Write the arrays of 'all' heads or of 'none' (default: all if --heads chose some)")
      .one_of({"all", "none"});
  command.add_option("--draws", args->draws, "Shuffled trees to compare with")
      .between(std::size_t{1}, std::size_t{1000})
      .with_default();
  command.add_option("--seed", args->seed, "Seed of the shuffled trees").with_default();
  command.add_option("--memory", args->memory, "Budget, e.g. 8G").with_default();
  command.add_flag("--force", args->force, "Replace the result of another run in the folder");
  command.add_flag("--json", args->json, "Print the figures as JSON");
  add_threads_option(command);
  add_quiet_option(command, session);
  command.footer("Example: headscope softmax runs/gpt2 -o runs/gpt2 --heads L5H1,L6H9");
  command.callback([args, &session] { run_softmax(*args, session); });
}

}  // namespace headscope::cli
