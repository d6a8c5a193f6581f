#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/device_choice.h"
#include "cli/interrupt.h"
#include "cli/map_source.h"
#include "cli/organize_files.h"
#include "cli/progress.h"
#include "cli/run_output.h"
#include "cli/shared_work.h"
#include "headscope/base/error.h"
#include "headscope/base/message.h"
#include "headscope/base/parallel.h"
#include "headscope/base/system.h"
#include "headscope/io/json.h"
#include "headscope/tree/tree_json.h"

namespace headscope::cli {
namespace {

struct Args {
  MapSourceArgs source;
  std::filesystem::path run;
  std::optional<std::size_t> iterations;
  std::optional<double> alpha;
  std::optional<double> beta;
  double epsilon = 1;
  std::string tree = "flexible";
  std::filesystem::path start;
  double stop_below = 0;
  std::size_t dimensions = 8;
  double time = 1;
  std::size_t draws = 8;
  std::uint64_t seed = 0;
  std::string memory = "8G";
  DeviceWords device;
  bool force = false;
  bool json = false;
};

PartitionTree read_start(const std::filesystem::path& run, TensorAxis axis, std::size_t extent) {
  const std::filesystem::path path = run / "trees" / fmt::format("{}.json", to_string(axis));
  const JsonDocument document = JsonDocument::open(path);
  PartitionTree tree = tree_from_json(document.root(), path.string());
  if (tree.size() != extent) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: is a tree of {} elements, expected the {} of the {} axis",
                                                path.string(), tree.size(), extent, to_string(axis)));
  }
  return tree;
}

QuestionnaireOptions questionnaire_options(const Args& args, const TensorShare& tensor) {
  QuestionnaireOptions options = tensor.heads() == 1 ? QuestionnaireOptions::for_one_map() : QuestionnaireOptions();
  if (args.iterations) options.iterations = *args.iterations;
  if (args.alpha) options.weights.alpha = *args.alpha;
  if (args.beta) options.weights.beta = *args.beta;
  options.epsilon = args.epsilon;
  options.tree = args.tree == "binary" ? TreeKind::kBinary : TreeKind::kFlexible;
  if (args.stop_below > 0) options.stop_below = args.stop_below;
  if (!args.start.empty()) {
    options.query_start = read_start(args.start, TensorAxis::kQuery, tensor.extent(TensorAxis::kQuery));
    options.key_start = read_start(args.start, TensorAxis::kKey, tensor.extent(TensorAxis::kKey));
  }
  return options;
}

// What of the budget is left for copies of the tensor, on the rank that has most of it, beside the tensor itself and
// the one its coefficients are made in.
std::size_t memory_for_copies(const Args& args, const TensorShare& tensor) {
  const NetworkTensor& own = tensor.own();
  const std::size_t held = tensor.ranks().all_reduce_max(2 * own.values.size() * sizeof(float) + own.present.size());
  const std::size_t budget = parse_size(args.memory);
  return budget > held ? budget - held : 0;
}

RunCommand describe_run(const Args& args, const MapSource& source, const QuestionnaireOptions& options) {
  RunCommand command;
  command.name = "organize";
  command.identity = {{"source", source.fingerprint},
                      {"maps", describe(args.source)},
                      {"device", args.device.device.starts_with("cuda") ? "cuda" : "cpu"},
                      {"iterations", std::to_string(options.iterations)},
                      {"alpha", fmt::format("{}", options.weights.alpha)},
                      {"beta", fmt::format("{}", options.weights.beta)},
                      {"epsilon", fmt::format("{}", options.epsilon)},
                      {"tree", args.tree},
                      {"start", args.start.string()},
                      {"stop_below", fmt::format("{}", args.stop_below)},
                      {"embedding", fmt::format("{} dimensions at time {}", args.dimensions, args.time)},
                      {"draws", std::to_string(args.draws)},
                      {"seed", std::to_string(args.seed)},
                      {"version", HEADSCOPE_VERSION}};
  command.circumstances = {{"threads", std::to_string(thread_count())}, {"memory", args.memory}};
  return command;
}

// Of all three axes, on rank 0: ranks make one each.
std::vector<DiffusionMap> embed(const Args& args, const Organization& organization, Ranks& ranks) {
  const auto maker = [&](TensorAxis axis) { return static_cast<std::size_t>(axis) % ranks.size(); };
  std::vector<DiffusionMap> embeddings;
  for (const TensorAxis axis : kTensorAxes) {
    check_for_interrupt();
    if (maker(axis) != ranks.rank()) {
      embeddings.emplace_back();
      continue;
    }
    embeddings.push_back(diffusion_map(organization.axis(axis).affinity, {args.dimensions, args.time}));
    if (ranks.is_root()) continue;
    const DiffusionMap& own = embeddings.back();
    MessageWriter message;
    message.put(own.coordinates.rows());
    message.put(own.coordinates.columns());
    message.put_all(own.coordinates.values());
    message.put(own.spectrum.size());
    message.put_all(std::span<const double>(own.spectrum));
    ranks.send(0, message.bytes());
  }
  for (const TensorAxis axis : kTensorAxes) {
    if (!ranks.is_root() || maker(axis) == 0) continue;
    const std::vector<std::byte> bytes = ranks.receive(maker(axis));
    MessageReader message(bytes);
    DiffusionMap& made = embeddings[static_cast<std::size_t>(axis)];
    const auto rows = message.take<std::size_t>();
    made.coordinates = DoubleMatrix(rows, message.take<std::size_t>());
    message.take_all(made.coordinates.values());
    made.spectrum.resize(message.take<std::size_t>());
    message.take_all(std::span(made.spectrum));
  }
  return embeddings;
}

// On all ranks, but what only files need: sparsity and embeddings are complete on rank 0.
OrganizeResult compute(const Args& args, const TensorShare& tensor, const QuestionnaireOptions& options,
                       std::shared_ptr<const TreeDistance> engine, Session& session) {
  constexpr std::size_t kSteps = 1000;
  constexpr double kQuestionnaire = 0.8;  // of the time, about
  Progress progress(session, "organizing", kSteps);
  Context context = progress.context(memory_for_copies(args, tensor));
  context.ranks = session.ranks;
  context.tree_distance = std::move(engine);
  Organization organization = organize(tensor, options, context.part(0, kQuestionnaire));
  SparsityOptions sparsity;
  sparsity.draws = args.draws;
  sparsity.seed = args.seed;
  Sparsity measured = measure_sparsity(tensor, organization.head.tree, organization.query.tree, organization.key.tree,
                                       sparsity, context.part(kQuestionnaire, 1))
                          .value_or(Sparsity{});
  std::vector<DiffusionMap> embeddings = embed(args, organization, tensor.ranks());
  return OrganizeResult{std::move(organization), std::move(measured), std::move(embeddings)};
}

void run_organize(const Args& args, Session& session) {
  const auto begin = std::chrono::steady_clock::now();
  watch_for_interrupts();
  Ranks& ranks = session.ranks;
  const std::shared_ptr<const TreeDistance> engine = choose_tree_distance(args.device, session);
  const MapSource source = load_maps(args.source, /*keep_absent=*/false, parse_size(args.memory), session, ranks);
  const TensorShare tensor = source.share(ranks);
  const QuestionnaireOptions options = ranks.run_and_agree([&] { return questionnaire_options(args, tensor); });
  std::optional<RunFolder> run;
  if (ranks.is_root()) run.emplace(begin_run(session, args.run, describe_run(args, source, options), args.force));
  const OrganizeResult result = compute(args, tensor, options, engine, session);
  add_haar_file(run ? &*run : nullptr, tensor, result.organization);
  const std::map<std::string, std::string> shared = describe_ranks(ranks);
  if (!run) return;
  run->circumstances().insert(shared.begin(), shared.end());
  add_organize_files(*run, source, result);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  run->circumstances()["seconds"] = fmt::format("{:.2f}", seconds);
  run->circumstances()["peak_memory"] = std::to_string(peak_memory());
  check_for_interrupt();
  const std::vector<std::string> files = run->files();
  run->commit();
  if (args.json) return print_organize_json(session.out, source, result, files, seconds);
  print_organize_summary(session.out, source, result);
  session.out << fmt::format("\n{} files in {} ({:.1f} s)\n", files.size(), printable(run->path().string(), 4096),
                             seconds);
}

}  // namespace

void add_organize_command(Command& app, Session& session) {
  auto args = std::make_shared<Args>();  // lives as long as the callback
  Command command = app.add_command("organize", "Trees, embeddings and sparsity of attention maps");
  add_map_source_options(command, args->source);
  command.add_option("-o,--output", args->run, "Folder for the results").required();
  command.add_option("--what", args->source.what, "pattern (after the softmax) or scores (before)")
      .one_of({"pattern", "scores"})
      .with_default();
  command.add_option("--iterations", args->iterations, "Of the questionnaire (default 3; 10 for one map)");
  command.add_option("--alpha", args->alpha, "Weight of coarse levels in the distance (default 0; 1 for one map)");
  command.add_option("--beta", args->beta, "Weight of large folders in the distance (default 1; 0 for one map)");
  command.add_option("--epsilon", args->epsilon, "Scale of the affinity").with_default();
  command.add_option("--tree", args->tree, "flexible or binary").one_of({"flexible", "binary"}).with_default();
  command.add_option("--start", args->start, "Run whose query and key trees to begin with, in place of cosines");
  command
      .add_option("--stop-below", args->stop_below,
                  "End early once the score changes by no more than this share; 0: never")
      .between(0.0, 1.0)
      .with_default();
  command.add_option("--dimensions", args->dimensions, "Coordinates of an embedding")
      .between(std::size_t{1}, std::size_t{1000})
      .with_default();
  command.add_option("--time", args->time, "Diffusion time of the embeddings").with_default();
  command.add_option("--draws", args->draws, "Shuffled trees to compare sparsity with")
      .between(std::size_t{2}, std::size_t{1000})
      .with_default();
  command.add_option("--seed", args->seed, "Seed of the shuffled trees").with_default();
  command.add_option("--memory", args->memory, "Budget, e.g. 8G").with_default();
  add_device_option(command, args->device);
  command.add_flag("--force", args->force, "Replace the result of another run in the folder");
  command.add_flag("--json", args->json, "Print the summary as JSON");
  add_threads_option(command);
  add_quiet_option(command, session);
  command.footer(
      "Example: headscope organize runs/gpt2 -o runs/gpt2 --skip-first 1\n"
      "         headscope organize maps.npy --axes lhqk --mask causal -o runs/maps");
  command.callback([args, &session] { run_organize(*args, session); });
}

}  // namespace headscope::cli
