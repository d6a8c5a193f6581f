#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/device_choice.h"
#include "cli/head_choice.h"
#include "cli/host.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/relate_files.h"
#include "cli/run_output.h"
#include "cli/shared_work.h"
#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "headscope/base/system.h"
#include "headscope/io/run_folder.h"
#include "headscope/linalg/kernels.h"
#include "headscope/model/fingerprint.h"
#include "headscope/model/vocabulary.h"
#include "headscope/relate/relate.h"

namespace headscope::cli {
namespace {

struct Args {
  ModelWords model;
  std::filesystem::path run;
  std::vector<std::string> pairs = {"OQ", "OK", "OV"};
  std::vector<std::string> metrics = {"pk"};
  std::vector<std::string> nulls;
  std::string weights = "folded";
  std::size_t top = 20;
  double q_level = 0;
  std::filesystem::path labels;
  HeadChoiceWords chosen;
  bool earlier_only = false;
  std::size_t draws = 32;
  std::uint64_t seed = 0;
  std::size_t tokens = 10;
  std::string tokens_for = "edges";
  std::string tokens_from = "unembedding";
  std::string memory = "2G";
  DeviceWords device;
  bool resume = true;
  double save_every = 10;
  bool force = false;
};

std::vector<RolePair> parse_pairs(const std::vector<std::string>& names) {
  if (names == std::vector<std::string>{"all"}) return all_role_pairs();
  std::vector<RolePair> pairs;
  for (const std::string& name : names) {
    const auto pair = parse_role_pair(name);
    if (!pair) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("--pairs: '{}' is not a pair of Q, K, V, O, e.g. OQ, nor 'all'", name));
    }
    if (std::ranges::find(pairs, *pair) == pairs.end()) pairs.push_back(*pair);
  }
  return pairs;
}

std::vector<Metric> parse_metrics(const std::vector<std::string>& names) {
  std::vector<Metric> metrics;
  for (const std::string& name : names) {
    const auto metric = parse_metric(name);
    if (!metric) {
      std::vector<std::string_view> known;
      for (const MetricInfo& one : all_metrics()) known.push_back(one.name);
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("--metric: '{}' is none of {}", name, fmt::join(known, ", ")));
    }
    if (std::ranges::find(metrics, *metric) == metrics.end()) metrics.push_back(*metric);
  }
  return metrics;
}

std::vector<NullModel> parse_nulls(const std::vector<std::string>& names) {
  std::vector<NullModel> nulls;
  for (const std::string& name : names) {
    const auto null = parse_null_model(name);
    if (!null) {
      throw Error(ErrorKind::kInvalidArgument, fmt::format("--null: '{}' is none of isotropic, matched, span", name));
    }
    if (std::ranges::find(nulls, *null) == nulls.end()) nulls.push_back(*null);
  }
  return nulls;
}

RunCommand describe(const Args& args, const Model& model, const std::string& seen, const AffinityEngine& engine) {
  RunCommand command;
  command.name = "relate";
  command.identity = {{"engine", engine.name()},
                      {"weights", args.weights},
                      {"pairs", fmt::format("{}", fmt::join(args.pairs, ","))},
                      {"metrics", fmt::format("{}", fmt::join(args.metrics, ","))},
                      {"nulls", args.nulls.empty() ? "default" : fmt::format("{}", fmt::join(args.nulls, ","))},
                      {"top", std::to_string(args.top)},
                      {"q", args.q_level > 0 ? fmt::format("{}", args.q_level) : "none"},
                      {"labels", args.labels.string()},
                      {"layers", fmt::format("{}", fmt::join(args.chosen.layers, ","))},
                      {"heads", fmt::format("{}", fmt::join(args.chosen.heads, ","))},
                      {"earlier_only", args.earlier_only ? "true" : "false"},
                      {"draws", std::to_string(args.draws)},
                      {"seed", std::to_string(args.seed)},
                      {"tokens", fmt::format("{} for {} from {}", args.tokens, args.tokens_for, args.tokens_from)},
                      {"version", HEADSCOPE_VERSION}};
  command.circumstances = {{"threads", std::to_string(thread_count())}, {"memory", args.memory}};
  describe_model(command, model, seen);
  return command;
}

// Token profiles of the subspaces asked for; a model without a vocabulary, or one that does not fit the stream, gives a
// warning instead.
void add_tokens(const Args& args, const Model& model, RunFolder& run, RelateResult& result, Session& session) {
  if (args.tokens_for == "none" || args.tokens == 0) return;
  const bool unembedding = args.tokens_from == "unembedding";
  const std::string& matrix = unembedding ? model.info().unembedding : model.info().embedding;
  const auto vocabulary = Vocabulary::load(model.checkpoint());
  if (matrix.empty() || !vocabulary) {
    result.warnings.push_back(
        fmt::format("no token profiles: the model has no {}",
                    matrix.empty() ? args.tokens_from : "vocabulary (tokenizer.json, vocab.json)"));
    return;
  }
  const HeadSizes& sizes = model.info().sizes;
  const std::vector<HeadRole> subspaces =
      args.tokens_for == "all" ? all_subspaces(result, sizes) : noteworthy_subspaces(result, sizes);
  constexpr std::size_t kSteps = 1000;
  Progress progress(session, "ranking tokens", kSteps);
  TokenProfileOptions options;
  options.weights = args.weights == "raw" ? WeightProcessing::kRaw : WeightProcessing::kFolded;
  options.matrix = unembedding ? TokenMatrix::kUnembedding : TokenMatrix::kEmbedding;
  options.top = args.tokens;
  options.vocabulary_size = vocabulary->size();
  try {
    const Context context = progress.context(parse_size(args.memory) / 2);
    add_token_file(run, token_profiles(model, subspaces, options, context), *vocabulary);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUnsupported) throw;
    result.warnings.push_back(fmt::format("no token profiles: {}", error.what()));
  }
}

RelateOptions parse(const Args& args) {
  RelateOptions options;
  options.pairs = parse_pairs(args.pairs);
  options.metrics = parse_metrics(args.metrics);
  options.nulls = parse_nulls(args.nulls);
  options.top = args.top;
  if (args.q_level > 0) options.q_level = args.q_level;
  options.matched = {.draws = args.draws, .seed = args.seed};
  options.affinity.weights = args.weights == "raw" ? WeightProcessing::kRaw : WeightProcessing::kFolded;
  options.affinity.earlier_only = args.earlier_only;
  HeadChoice chosen = parse_head_choice(args.chosen);
  options.affinity.layers = std::move(chosen.layers);
  options.affinity.heads = std::move(chosen.heads);
  options.affinity.named_heads = std::move(chosen.named);
  return options;
}

std::filesystem::path unfinished(const Args& args) {
  return args.run / "unfinished";
}

// What decides the bits of a block of affinities, beside its metric, roles and layers. Bits differ between the
// processors that BLAS has different kernels for.
std::string key_of_blocks(const Args& args, const Model& model, const std::string& seen, const AffinityEngine& engine) {
  const std::string family = model.info().family_overridden ? " as " + model.info().family : "";
  return fmt::format("model {}{}; weights {}; layers {}; heads {}; engine {}; kernels {}; version {}", seen, family,
                     args.weights, fmt::join(args.chosen.layers, ","), fmt::join(args.chosen.heads, ","), engine.name(),
                     kernel_name(), HEADSCOPE_VERSION);
}

// The part that takes long, and that a rerun continues: whatever ends it, what was finished is kept.
std::optional<RelateResult> compute(const Model& model, const RelateOptions& options, std::size_t memory,
                                    const std::shared_ptr<const AffinityEngine>& engine, FinishedBlocks* finished,
                                    Session& session) {
  constexpr std::size_t kSteps = 10000;
  Progress progress(session, "comparing heads", kSteps);
  Context context = progress.context(memory);
  context.ranks = session.ranks;
  context.affinity_engine = engine;
  try {
    return relate(model, options, context, finished);
  } catch (Interrupted& interrupted) {
    if (finished != nullptr) {
      finished->save();
      interrupted.kept = finished->is_on_disk();
    }
    throw;
  } catch (...) {
    if (finished != nullptr) finished->save();
    throw;
  }
}

// Files and printing: rank 0's.
void write_results(const Args& args, const Model& model, const RelateOptions& options, RelateResult& result,
                   RunFolder& run, std::chrono::steady_clock::time_point begin, Session& session) {
  add_relate_files(run, options, result);
  add_tokens(args, model, run, result, session);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  run.circumstances()["seconds"] = fmt::format("{:.2f}", seconds);
  run.circumstances()["peak_memory"] = std::to_string(peak_memory());
  check_for_interrupt();
  const std::vector<std::string> files = run.files();
  run.commit();
  print_relate_summary(session.out, model, options, result);
  session.out << fmt::format("\n{} files in {} ({:.1f} s)\n", files.size(), printable(run.path().string(), 4096),
                             seconds);
}

void run_relate(const Args& args, Session& session) {
  const auto begin = std::chrono::steady_clock::now();
  Ranks& ranks = session.ranks;
  RelateOptions options = parse(args);
  const std::size_t memory = parse_size(args.memory) / 2;
  const std::shared_ptr<const AffinityEngine> engine = choose_affinity_engine(args.device, session);

  const auto opened = ranks.run_and_agree([&] { return open_model(session, args.model); });
  const Model& model = *opened;
  const std::string seen = fingerprint(model.checkpoint());
  check_same_everywhere(ranks, "model", seen);
  if (!args.labels.empty() && ranks.is_root()) options.labels = load_labels(args.labels);
  watch_for_interrupts();
  std::optional<RunFolder> run;
  if (ranks.is_root()) run.emplace(begin_run(session, args.run, describe(args, model, seen, *engine), args.force));
  // What a host keeps in its memory has no folder in which to go on.
  const bool on_disk = session.host == nullptr || session.host->held == nullptr;
  if (on_disk && !args.resume) FinishedBlocks::remove(unfinished(args));
  ranks.barrier();
  std::optional<FinishedBlocks> finished;
  if (on_disk) {
    finished.emplace(unfinished(args), key_of_blocks(args, model, seen, *engine), ranks.rank(), args.save_every);
  }

  std::optional<RelateResult> result =
      compute(model, options, memory, engine, finished ? &*finished : nullptr, session);
  const std::map<std::string, std::string> shared = describe_ranks(ranks);
  const std::size_t resumed = sum_on_root(ranks, finished ? finished->restored() : 0);
  if (run && result) {
    run->circumstances().insert(shared.begin(), shared.end());
    if (resumed > 0) {
      run->circumstances()["blocks_resumed"] = std::to_string(resumed);
      session.out << fmt::format("{:<12} {} blocks of layers that an earlier run had finished\n", "resumed", resumed);
    }
    write_results(args, model, options, *result, *run, begin, session);
  }
  ranks.barrier();  // nothing is thrown away before the results are there
  if (on_disk) FinishedBlocks::remove(unfinished(args));
}

}  // namespace

void add_relate_command(Command& app, Session& session) {
  auto args = std::make_shared<Args>();  // lives as long as the callback
  Command command = app.add_command("relate", "Which heads talk to which, from their weights");
  add_model_options(command, args->model);
  command.add_option("-o,--output", args->run, "Folder for the results").required();
  command.add_option("--pairs", args->pairs, "Roles of source and target, or 'all' 16").list().with_default();
  command
      .add_option(
          "--metric", args->metrics,
          "pk, max-cos, binet-cauchy, chordal, grassmann, procrustes, cka, cs, simple-cs; the first makes the graph")
      .list()
      .with_default();
  command.add_option("--weights", args->weights, "folded (norms multiplied in) or raw")
      .one_of({"folded", "raw"})
      .with_default();
  command.add_option("--null", args->nulls, "isotropic, matched, span (default: all that fit the metric)").list();
  command.add_option("--top", args->top, "Edges kept for each pair of roles").with_default();
  command
      .add_option("--max-q", args->q_level,
                  "Keep all edges whose q-value under the first null is below this, instead of --top")
      .between(0.0, 1.0);
  command.add_option("--labels", args->labels, "JSON file of head classes to score against");
  command.add_option("--tokens", args->tokens, "Tokens in a profile").with_default();
  command
      .add_option("--tokens-for", args->tokens_for,
                  "Whose profiles: of the heads in the kept edges and the top hubs, of all, of none")
      .one_of({"edges", "all", "none"})
      .with_default();
  command.add_option("--tokens-from", args->tokens_from, "unembedding or embedding")
      .one_of({"unembedding", "embedding"})
      .with_default();
  add_head_choice_options(command, args->chosen);
  command.add_flag("--earlier-only", args->earlier_only,
                   "Leave out pairs that do not go from an earlier to a later layer");
  command.add_option("--draws", args->draws, "Random subspaces a side of the matched null")
      .between(std::size_t{2}, std::size_t{100000})
      .with_default();
  command.add_option("--seed", args->seed, "Seed of the matched null").with_default();
  command.add_option("--memory", args->memory, "Budget, e.g. 8G").with_default();
  add_device_option(command, args->device);
  add_precision_option(command, args->device);
  command.add_flag("--resume,!--no-resume", args->resume,
                   "Continue from what an interrupted run of the same command has finished (default), or start anew");
  command.add_option("--save-every", args->save_every, "Seconds between two savings of what is finished")
      .not_negative()
      .with_default();
  command.add_flag("--force", args->force, "Replace the result of another run in the folder");
  add_threads_option(command);
  add_quiet_option(command, session);
  // Last, since -q must exist.
  if (auto alias = command.add_hidden_alias("--q", args->q_level)) alias->between(0.0, 1.0);
  command.footer(
      "Example: headscope relate models/gpt2 -o runs/gpt2 --metric pk,cs --labels "
      "data/labels/gpt2-small-wang2023.json");
  command.callback([args, &session] { run_relate(*args, session); });
}

}  // namespace headscope::cli
