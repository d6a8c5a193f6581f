#include "headscope/app/organize.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "app/device_choice.h"
#include "app/input_folders.h"
#include "app/map_source.h"
#include "app/organize_inputs.h"
#include "app/run_output.h"
#include "app/shared_work.h"
#include "headscope/base/error.h"
#include "headscope/base/message.h"
#include "headscope/io/byte_reader.h"
#include "headscope/io/folder.h"
#include "headscope/io/json.h"
#include "headscope/organize/tensor_haar.h"
#include "headscope/run/schema.h"
#include "headscope/run/schema/organize.h"
#include "headscope/tree/haar.h"
#include "headscope/tree/tree_json.h"

namespace headscope {
namespace {

using namespace app;

PartitionTree read_start(const std::filesystem::path& run, TensorAxis axis, std::size_t extent) {
  const MappedFile file =
      Folder::open(run).map(fill(run_files::kAxisTree.path, {{"axis", std::string(to_string(axis))}}));
  const std::string where = file.path().string();
  const JsonDocument document = JsonDocument::parse(as_text(file.bytes()), where);
  PartitionTree tree = tree_from_json(document.root(), where);
  if (tree.size() != extent) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: is a tree of {} elements, expected the {} of the {} axis", where,
                                                tree.size(), extent, to_string(axis)));
  }
  return tree;
}

QuestionnaireOptions questionnaire_options(const OrganizeRequest& request, const TensorShare& tensor) {
  QuestionnaireOptions options = tensor.heads() == 1 ? QuestionnaireOptions::for_one_map() : QuestionnaireOptions();
  if (request.iterations) options.iterations = *request.iterations;
  if (request.alpha) options.weights.alpha = *request.alpha;
  if (request.beta) options.weights.beta = *request.beta;
  options.epsilon = request.epsilon;
  options.tree = request.tree;
  if (request.stop_below > 0) options.stop_below = request.stop_below;
  if (!request.start.empty()) {
    options.query_start = read_start(request.start, TensorAxis::kQuery, tensor.extent(TensorAxis::kQuery));
    options.key_start = read_start(request.start, TensorAxis::kKey, tensor.extent(TensorAxis::kKey));
  }
  return options;
}

RunCommand describe_run(const OrganizeRequest& request, const MapSource& source, const InputFolders& folders,
                        const QuestionnaireOptions& options) {
  RunCommand command = describe_command(request);
  describe_maps(command.identity, source);
  const std::string others = fingerprint_of_others(folders, request.maps.what);
  if (!others.empty()) command.identity["other_inputs"] = others;
  describe_inputs(command, request.maps, folders, name_of(source));
  // The defaults of these depend on the maps.
  command.identity["iterations"] = std::to_string(options.iterations);
  command.identity["alpha"] = fmt::format("{}", options.weights.alpha);
  command.identity["beta"] = fmt::format("{}", options.weights.beta);
  command.identity["device"] = request.resources.device.starts_with("cuda") ? "cuda" : "cpu";
  describe_resources(command, request.resources);
  return command;
}

void send_embedding(const DiffusionMap& embedding, Ranks& ranks) {
  MessageWriter message;
  message.put(embedding.coordinates.rows());
  message.put(embedding.coordinates.columns());
  message.put_all(embedding.coordinates.values());
  message.put(embedding.spectrum.size());
  message.put_all(std::span<const double>(embedding.spectrum));
  ranks.send(0, message.bytes());
}

DiffusionMap receive_embedding(std::size_t from, Ranks& ranks) {
  const std::vector<std::byte> bytes = ranks.receive(from);
  MessageReader message(bytes);
  DiffusionMap embedding;
  const auto rows = message.take<std::size_t>();
  embedding.coordinates = DoubleMatrix(rows, message.take<std::size_t>());
  message.take_all(embedding.coordinates.values());
  embedding.spectrum.resize(message.take<std::size_t>());
  message.take_all(std::span(embedding.spectrum));
  return embedding;
}

// Embeds the axes, each on one rank. Rank 0 gets all of them.
std::array<DiffusionMap, 3> embed(const Organization& organization, const DiffusionMapOptions& options,
                                  const Context& context) {
  Ranks& ranks = context.ranks;
  const auto maker = [&](TensorAxis axis) { return static_cast<std::size_t>(axis) % ranks.size(); };
  std::array<DiffusionMap, 3> embeddings;
  for (const TensorAxis axis : kTensorAxes) {
    if (context.poll) context.poll();
    if (maker(axis) != ranks.rank()) continue;
    DiffusionMap& own = embeddings[static_cast<std::size_t>(axis)];
    own = diffusion_map(organization.axis(axis).affinity, options);
    if (!ranks.is_root()) send_embedding(own, ranks);
  }
  for (const TensorAxis axis : kTensorAxes) {
    if (!ranks.is_root() || maker(axis) == 0) continue;
    embeddings[static_cast<std::size_t>(axis)] = receive_embedding(maker(axis), ranks);
  }
  return embeddings;
}

// Collective. Sparsity and embeddings, which only files need, are complete on rank 0.
OrganizeOutcome compute(const OrganizeRequest& request, const TensorShare& tensor, QuestionnaireOptions options,
                        const Context& context) {
  constexpr double kQuestionnaire = 0.8;  // fraction of the time, roughly
  Organization organization = organize(tensor, options, context.part(0, kQuestionnaire));
  auto sparsity = measure_sparsity(tensor, organization.head.tree, organization.query.tree, organization.key.tree,
                                   {.draws = request.draws, .seed = request.seed}, context.part(kQuestionnaire, 1));
  auto embeddings = embed(organization, {request.dimensions, request.time}, context);
  return {.maps = {},
          .options = std::move(options),
          .organization = std::move(organization),
          .sparsity = sparsity ? std::move(*sparsity) : Sparsity(),
          .embeddings = std::move(embeddings)};
}

// Streams the coefficients of the tensor to a file. Collective; only rank 0 has a folder.
void write_coefficients(RunFolder* folder, const TensorShare& tensor, const Organization& organization) {
  const HaarBasis head(organization.head.tree);
  const HaarBasis query(organization.query.tree);
  const HaarBasis key(organization.key.tree);
  std::optional<RunArray> array;
  if (folder != nullptr) {
    const auto [heads, queries, keys] = tensor.extents();
    array = folder->add_array(describe(run_files::kHaar, {}, {heads, queries, keys}), RunFloat::kF32);
  }
  stream_coefficients(tensor, {tensor.extents(), {&head, &query, &key}},
                      [&](std::size_t first, std::span<const float> values) { array->write(first, values); });
}

}  // namespace

void describe(OrganizeRequest& request, OptionList& options) {
  describe(request.maps, options);
  describe_what(request.maps.what, options);
  options.add("iterations", request.iterations, "Iterations of the questionnaire (default: 3; 10 for one map)")
      .between(1, kMaxIterations);
  options.add("alpha", request.alpha, "Weight of coarse levels in the distance (default: 0; 1 for one map)");
  options.add("beta", request.beta, "Weight of large folders in the distance (default: 1; 0 for one map)");
  options.add("epsilon", request.epsilon, "Scale of the affinity").above(0);
  options.add("tree", request.tree,
              named_values<TreeKind>({{TreeKind::kFlexible, "flexible"}, {TreeKind::kBinary, "binary"}}),
              "flexible or binary");
  options.add("start", request.start, "Run whose query and key trees are used at the start, instead of cosines");
  options
      .add("stop-below", request.stop_below, "End early if the relative change of the score is at most this; 0: never")
      .between(0, 1);
  options.add("dimensions", request.dimensions, "Coordinates of an embedding").between(1, 1000);
  options.add("time", request.time, "Diffusion time of the embeddings").at_least(0);
  options.add("draws", request.draws, "Shuffled trees that sparsity is compared with").between(2, 1000);
  options
      .add("controls", request.controls,
           "Controls of each kind per input: maps with permuted rows, organized again; each takes as long as the maps")
      .between(0, 1000);
  options.add("inputs", request.inputs, "Organize at most this many of the inputs that 'capture' wrote")
      .between(1, 1000000);
  options.add("seed", request.seed, "Seed of the controls and of the shuffled trees");
  describe_device(request.resources, options);
  describe(request.output, options);
  describe(request.resources, options);
}

std::optional<OrganizeOutcome> run(const OrganizeRequest& given, const Context& caller) {
  const Stopwatch watch;
  OrganizeRequest request = given;
  request.maps = with_chosen_input(request.maps);
  Context context = make_context(request.resources, caller).with_stage("organizing");
  Ranks& ranks = context.ranks;
  context.tree_distance = choose_tree_distance(request.resources, context);
  MapSource source = load_maps(request.maps, /*keep_absent=*/false, map_use(request), context);
  const InputFolders folders = find_input_folders(request.maps, request.inputs, ranks);
  const InputWork work(request, std::max<std::size_t>(1, folders.used.size()), context);
  std::optional<RunOutput> output;
  OrganizeOutcome outcome = [&] {
    const TensorShare tensor = source.share(ranks);
    QuestionnaireOptions options = ranks.run_and_agree([&] { return questionnaire_options(request, tensor); });
    if (ranks.is_root()) output.emplace(request.output, describe_run(given, source, folders, options), watch);
    OrganizeOutcome first = compute(request, tensor, std::move(options), work.of_maps(0, tensor));
    write_coefficients(output ? &output->folder() : nullptr, tensor, first.organization);
    first.inputs.push_back(
        work.with_controls(0, source, tensor, first.options, first.organization, values_of(first.sparsity)));
    return first;
  }();
  source.tensor = {};
  for (std::size_t i = 1; i < folders.used.size(); ++i) work.add_input(i, folders.used[i], source.info, outcome);
  if (folders.left_out > 0) outcome.left_out.push_back(left_out_text(folders));
  const std::map<std::string, std::string> shared = describe_ranks(ranks);
  if (!output) return std::nullopt;
  compare_inputs(outcome);
  output->folder().circumstances().insert(shared.begin(), shared.end());
  outcome.maps = std::move(source.info);
  write(outcome, output->folder());
  output->folder().verdict() = verdict(outcome);
  outcome.files = output->finish(context);
  return outcome;
}

}  // namespace headscope
