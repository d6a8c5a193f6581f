#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/head_choice.h"
#include "cli/host.h"
#include "cli/input_options.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/prune_files.h"
#include "cli/run_output.h"
#include "headscope/apply/prune.h"
#include "headscope/apply/pruned_checkpoint.h"
#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "headscope/base/system.h"
#include "headscope/io/npy.h"
#include "headscope/model/fingerprint.h"

namespace headscope::cli {
namespace {

constexpr std::size_t kSteps = 1000;

struct Args {
  ModelWords model;
  std::filesystem::path run;
  InputWords inputs;
  HeadChoiceWords removable;
  std::vector<std::string> kept;
  std::vector<std::string> criteria = {"information", "redundancy", "pk", "norm", "random"};
  std::size_t count = 0;  // 0: not given
  double fraction = 0.5;
  bool per_layer = false;
  std::string damage = "loss";
  std::string write = "best";
  std::filesystem::path labels;
  PruneOptions prune;
  std::string memory = "2G";
  bool json = false;
  bool force = false;
};

std::vector<PruneCriterion> parse_criteria(const std::vector<std::string>& words) {
  std::vector<PruneCriterion> criteria;
  for (const std::string& word : words) {
    if (word == "all") {
      criteria.assign(kPruneCriteria.begin(), kPruneCriteria.end());
      continue;
    }
    const auto criterion = parse_prune_criterion(word);
    if (!criterion) {
      throw Error(
          ErrorKind::kInvalidArgument,
          fmt::format("--criteria: '{}' is none of information, redundancy, pk, norm, alone, greedy, random, all",
                      printable(word, 60)));
    }
    if (std::ranges::find(criteria, *criterion) == criteria.end()) criteria.push_back(*criterion);
  }
  return criteria;
}

std::vector<HeadId> parse_kept(const std::vector<std::string>& words) {
  std::vector<HeadId> heads;
  for (const std::string& word : words) {
    const auto id = parse_head(word);
    if (!id) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("--protect: '{}' is not a head such as L4H7", printable(word, 60)));
    }
    heads.push_back(*id);
  }
  return heads;
}

std::vector<std::size_t> read_labels(const std::filesystem::path& path, const Session& session) {
  if (path.empty()) return {};
  if (const auto* given = given_inputs(session, path)) return {given->front().ids.begin(), given->front().ids.end()};
  const NpyFile file = NpyFile::open(path);
  std::vector<std::size_t> labels;
  for (const std::int64_t label : npy_values<std::int64_t>(file.array(), path.string())) {
    if (label < 0) throw Error(ErrorKind::kFormat, fmt::format("{}: label {} is negative", path.string(), label));
    labels.push_back(static_cast<std::size_t>(label));
  }
  return labels;
}

PruneOptions parse_options(const Args& args, const Model& model, const Session& session) {
  PruneOptions options = args.prune;
  options.criteria = parse_criteria(args.criteria);
  if (args.count > 0) options.budget.count = args.count;
  options.budget.fraction = args.fraction;
  options.budget.per_layer = args.per_layer;
  options.removable = chosen_heads(parse_head_choice(args.removable), model.info().sizes);
  options.kept = parse_kept(args.kept);
  options.measure = args.damage == "kl" ? DamageMeasure::kKl : DamageMeasure::kLoss;
  options.labels = read_labels(args.labels, session);
  const auto written = parse_prune_criterion(args.write);
  if (args.write != "best" && args.write != "none" &&
      (!written || std::ranges::find(options.criteria, *written) == options.criteria.end())) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--write: '{}' is neither best, none nor one of the criteria asked for",
                            printable(args.write, 60)));
  }
  return options;
}

RunCommand describe(const Args& args, const Model& model) {
  RunCommand command;
  command.name = "prune";
  command.identity = {
      {"inputs", args.inputs.described()},
      {"labels", args.labels.string()},
      {"criteria", fmt::format("{}", fmt::join(args.criteria, ","))},
      {"budget",
       fmt::format("{}{}", args.count > 0 ? std::to_string(args.count) : fmt::format("{} of all", args.fraction),
                   args.per_layer ? " a layer" : "")},
      {"layers", fmt::format("{}", fmt::join(args.removable.layers, ","))},
      {"heads", fmt::format("{}", fmt::join(args.removable.heads, ","))},
      {"protected", fmt::format("{}", fmt::join(args.kept, ","))},
      {"damage", args.damage},
      {"write", args.write},
      {"points", std::to_string(args.prune.points)},
      {"candidates", std::to_string(args.prune.candidates)},
      {"seeds", fmt::format("{} from {}", args.prune.seeds, args.prune.seed)},
      {"choose_on", std::to_string(args.prune.choose_on)},
      {"maps", fmt::format("{} inputs, skip {}", args.prune.map_inputs, args.prune.skip_first)},
      {"version", HEADSCOPE_VERSION}};
  command.circumstances = {{"threads", std::to_string(thread_count())}, {"memory", args.memory}};
  describe_model(command, model, fingerprint(model.checkpoint()));
  return command;
}

// The ranking whose heads are taken out of the checkpoint.
std::optional<std::size_t> ranking_to_write(const Args& args, const PruneResult& result) {
  if (args.write == "none") return std::nullopt;
  if (args.write == "best") return result.best ? result.best : std::optional<std::size_t>(0);
  for (std::size_t r = 0; r < result.rankings.size(); ++r) {
    if (to_string(result.rankings[r].criterion) == args.write) return r;
  }
  return std::nullopt;
}

PruneResult compute(const Model& model, std::span<const ModelInput> inputs, const PruneOptions& options,
                    std::size_t memory, Session& session) {
  Progress progress(session, "pruning", kSteps);
  return prune(model, inputs, options, progress.context(memory));
}

void write_checkpoint(RunFolder& run, const Model& model, std::span<const HeadId> heads, Session& session) {
  Progress progress(session, "writing the pruned model", kSteps);
  add_pruned_checkpoint(run, model, heads, "pruned", progress.context());
}

void run_prune(const Args& args, Session& session) {
  const auto begin = std::chrono::steady_clock::now();
  const auto opened = open_model(session, args.model);
  const Model& model = *opened;
  const PruneOptions options = parse_options(args, model, session);
  const std::size_t memory = parse_size(args.memory);
  if (args.write != "none") {
    try {
      check_prunable(model);  // before hours of measuring
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUnsupported) throw;
      throw Error(error.kind(), std::string(error.what()) + "; --write none ranks and measures without writing");
    }
  }
  std::vector<ModelInput> inputs;
  for (DescribedInput& input : read_inputs(model, args.inputs, session)) inputs.push_back(std::move(input.input));
  watch_for_interrupts();
  RunFolder run = begin_run(session, args.run, describe(args, model), args.force);
  const PruneResult result = compute(model, inputs, options, memory, session);
  add_prune_tables(run, result, options.kept);
  run.add_text({.name = "prune.json",
                .kind = "summary",
                .about = "Every criterion at the budget beside the random orders, and whether structure beats chance."},
               prune_json(result));
  const auto written = ranking_to_write(args, result);
  if (written) write_checkpoint(run, model, result.removed_heads(*written), session);
  if (const auto told = written ? written : result.best) {
    run.add_text({.name = "pruned.json",
                  .kind = "heads",
                  .about = "The heads that were removed, by which criterion, and what that did to the model."},
                 pruned_json(result, *told, written ? "pruned" : "", args.model.model.string()));
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  run.circumstances()["seconds"] = fmt::format("{:.2f}", seconds);
  run.circumstances()["peak_memory"] = std::to_string(peak_memory());
  check_for_interrupt();
  const std::vector<std::string> files = run.files();
  run.commit();
  if (args.json) return print_prune_json(session.out, result, files, seconds);
  print_prune_summary(session.out, result);
  const std::string where = printable(run.path().string(), 4096);
  if (written) {
    session.out << fmt::format(
        "\n{}/pruned is the model without the heads chosen by {}: loads wherever the original does\n", where,
        to_string(result.rankings[*written].criterion));
  }
  session.out << fmt::format("{}{} files in {} ({:.1f} s)\n", written ? "" : "\n", files.size(), where, seconds);
}

}  // namespace

void add_prune_command(Command& app, Session& session) {
  auto args = std::make_shared<Args>();  // lives as long as the callback
  Command command = app.add_command("prune", "Remove heads by structure or by measured damage, and write the model");
  add_model_options(command, args->model);
  command.add_option("-o,--output", args->run, "Folder for the results").required();
  add_input_options(command, args->inputs);
  command.add_option("--labels", args->labels, "Right classes of the images, an npy file of integers, one an input");
  command
      .add_option("--criteria", args->criteria,
                  "Any of information, redundancy, pk, norm, alone, greedy, random; or all")
      .list()
      .with_default();
  const Option count = command.add_option("--count", args->count, "Remove so many heads").positive();
  command.add_option("--fraction", args->fraction, "Remove this share of the heads")
      .between(0.0, 1.0)
      .excludes(count)
      .with_default();
  command.add_flag("--per-layer", args->per_layer, "The budget is every layer's, not the whole model's");
  command.add_option("--protect", args->kept, "Heads to keep whatever they score, e.g. L0H3,L4H7").list();
  add_head_choice_options(command, args->removable);
  command.add_option("--damage", args->damage, "What greedy, alone and best go by: loss, or kl to the unpruned output")
      .one_of({"loss", "kl"})
      .with_default();
  command.add_option("--points", args->prune.points, "Points of a curve")
      .between(std::size_t{1}, std::size_t{100000})
      .with_default();
  command.add_option("--candidates", args->prune.candidates, "Heads that greedy measures at each step; 0: all")
      .with_default();
  command
      .add_option("--choose-on", args->prune.choose_on,
                  "Use the first so many inputs to choose heads, the others to measure; 0: all for both")
      .with_default();
  command.add_option("--map-inputs", args->prune.map_inputs, "Inputs whose attention is organized, at most")
      .between(std::size_t{1}, std::size_t{1000000})
      .with_default();
  command.add_option("--skip-first", args->prune.skip_first, "Leave so many first tokens out of the organization")
      .with_default();
  command.add_option("--write", args->write, "Which criterion's model to write: best, none or its name").with_default();
  command.add_option("--seeds", args->prune.seeds, "Random orders")
      .between(std::size_t{1}, std::size_t{100000})
      .with_default();
  command.add_option("--seed", args->prune.seed, "Seed of the first of them").with_default();
  command.add_option("--memory", args->memory, "Budget, e.g. 8G").with_default();
  command.add_flag("--json", args->json, "Print the summary as JSON");
  command.add_flag("--force", args->force, "Replace the result of another run in the folder");
  add_threads_option(command);
  add_quiet_option(command, session);
  command.footer(
      "Example: headscope prune models/gpt2 -o runs/pruned --text-file book.txt --max-tokens 512 --fraction 0.5");
  command.callback([args, &session] { run_prune(*args, session); });
}

}  // namespace headscope::cli
