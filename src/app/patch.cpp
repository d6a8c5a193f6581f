#include "headscope/app/patch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/patch_edges.h"
#include "app/patch_readouts.h"
#include "app/resumable.h"
#include "app/run_output.h"
#include "headscope/base/error.h"
#include "headscope/base/hash.h"
#include "headscope/linalg/kernels.h"
#include "headscope/model/fingerprint.h"

namespace headscope {
namespace {

using namespace app;

TextForm<RolePair> pair_form() {
  std::vector<std::pair<RolePair, std::string>> names;
  for (const Role role : {Role::kQ, Role::kK, Role::kV}) {
    const RolePair pair{Role::kO, role};
    names.emplace_back(pair, to_string(pair));
  }
  return named_values(std::move(names));
}

TextForm<Replacement> replacement_form() {
  return named_values<Replacement>(
      {{Replacement::kMean, "mean"}, {Replacement::kZero, "zero"}, {Replacement::kPair, "pair"}});
}

TextForm<PatchNodes> nodes_form() {
  return named_values<PatchNodes>(
      {{PatchNodes::kHeads, "heads"}, {PatchNodes::kMlp, "mlp"}, {PatchNodes::kUnembedding, "unembedding"}});
}

bool ends_with_any(const std::filesystem::path& path, std::initializer_list<std::string_view> endings) {
  std::string text = path.extension().string();
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(endings, text) != endings.end();
}

std::vector<std::filesystem::path>& arrays_of(Modality modality, InputSources& sources) {
  return modality == Modality::kImage ? sources.pixels : modality == Modality::kAudio ? sources.features : sources.ids;
}

// Files of paired inputs go by their names: arrays, images, texts.
InputSources paired_sources(const PatchRequest& request, const Model& model) {
  InputSources sources;
  sources.special = request.inputs.special;
  sources.max_tokens = request.inputs.max_tokens;
  sources.in_memory = request.paired_in_memory;
  for (const auto& path : request.pairs_with) {
    if (ends_with_any(path, {".npy"})) {
      arrays_of(model.info().modality, sources).push_back(path);
    } else if (model.info().modality == Modality::kImage) {
      sources.images.push_back(path);
    } else {
      sources.text_files.push_back(path);
    }
  }
  sources.lines = request.inputs.lines && !sources.text_files.empty();
  return sources;
}

// --lines is also of use if only the paired inputs are text files.
InputSources own_sources(const PatchRequest& request, const InputSources& paired) {
  InputSources sources = request.inputs;
  sources.lines = sources.lines && (!sources.text_files.empty() || paired.text_files.empty());
  return sources;
}

Replacement replacement_of(const PatchRequest& request) {
  const bool has_pairs = !request.pairs_with.empty() || !request.paired_in_memory.empty();
  const Replacement replace = request.replace.value_or(has_pairs ? Replacement::kPair : Replacement::kMean);
  if (replace == Replacement::kPair && !has_pairs) {
    throw Error(ErrorKind::kInvalidArgument, "--replace pair needs the paired inputs: give --pairs-with");
  }
  if (replace != Replacement::kPair && has_pairs) {
    throw Error(ErrorKind::kInvalidArgument, "--pairs-with is used only by --replace pair");
  }
  return replace;
}

GivenEdges given_edges(const PatchRequest& request, const HeadSizes& sizes) {
  if (!request.edges_in_memory.empty()) return find_edges(request.edges_in_memory, sizes);
  return request.edges.empty() ? GivenEdges{} : read_edges(request.edges, sizes);
}

PatchOptions patch_options(const PatchRequest& request, const HeadSizes& sizes) {
  const auto has = [&](PatchNodes nodes) { return std::ranges::find(request.nodes, nodes) != request.nodes.end(); };
  const GivenEdges given = given_edges(request, sizes);
  if (!given.empty() && request.nodes != PatchRequest{}.nodes) {
    throw Error(ErrorKind::kInvalidArgument, "--nodes chooses edges, and --edges names them: give one of the two");
  }
  if (!given.empty() && request.screen_only) {
    throw Error(ErrorKind::kInvalidArgument,
                "--screen-only cuts nothing, and --edges says what to cut: give one of the two");
  }
  if (!given.empty() && request.top != PatchRequest{}.top) {
    throw Error(ErrorKind::kInvalidArgument, "--top chooses edges, and --edges names them: give one of the two");
  }
  PatchOptions options;
  options.roles.clear();
  options.replacement = replacement_of(request);
  options.weights = request.weights;
  options.given = given.heads;
  for (const RolePair pair : request.pairs) {
    const auto has_role = [&](const PatchEdge& edge) { return edge.role == pair.target; };
    if (given.empty() ? has(PatchNodes::kHeads) : std::ranges::any_of(given.heads, has_role)) {
      options.roles.push_back(pair.target);
    }
  }
  options.choice = {
      .top = request.top, .controls = request.controls.value_or(given.empty() ? 1 : 0), .seed = request.seed};
  options.matched = {.draws = request.draws, .seed = request.seed};
  options.screen_only = request.screen_only;
  options.components = {.given = given.components, .weights = request.weights, .choice = options.choice};
  if (has(PatchNodes::kMlp)) options.components.targets.push_back(ComponentKind::kMlp);
  if (has(PatchNodes::kUnembedding)) options.components.targets.push_back(ComponentKind::kUnembedding);
  return options;
}

RunCommand describe_run(const PatchRequest& request, const Model& model, const std::string& seen,
                        std::span<const DescribedInput> inputs, std::span<const DescribedInput> paired) {
  RunCommand command = describe_command(request);
  describe_contents(command, "contents", inputs);
  if (!paired.empty()) describe_contents(command, "paired_contents", paired);
  describe_resources(command, request.resources);
  describe_model(command, model, seen);
  return command;
}

// The same name or no name does not mean the same labels.
std::string fingerprint(std::span<const std::vector<Readout>> readouts) {
  Hash hash;
  for (const std::vector<Readout>& of_input : readouts) {
    hash.add(of_input.size());
    for (const Readout& one : of_input) {
      hash.add(one.row);
      hash.add(std::uint64_t{one.answer});
    }
  }
  return hash.digits();
}

std::string fingerprint(const PatchOptions& options) {
  Hash hash;
  for (const ComponentCut& cut : options.components.given) {
    hash.add(to_string(cut.source));
    hash.add(to_string(cut.target));
  }
  for (const PatchEdge& edge : options.given) {
    hash.add(static_cast<std::size_t>(edge.role));
    hash.add(to_string(edge.source));
    hash.add(to_string(edge.target));
  }
  return hash.digits();
}

// What determines the bits of a cut, besides the edge. Memory determines which cuts share a batch.
std::string key_of_work(const RunCommand& command, const Context& context) {
  std::string key = fmt::format("kernels {}; memory {}", kernel_name(), context.memory);
  for (const auto& [name, value] : command.identity) key += fmt::format("; {} {}", name, value);
  return key;
}

std::vector<ModelInput> take_inputs(std::vector<DescribedInput>& described) {
  std::vector<ModelInput> inputs;
  for (DescribedInput& one : described) inputs.push_back(std::move(one.input));
  return inputs;
}

}  // namespace

void describe(PatchRequest& request, OptionList& options) {
  constexpr double kMaxEdges = 1000000;
  describe(request.model, options);
  describe(request.inputs, options);
  describe(request.targets, options);
  options
      .add("pairs-with", request.pairs_with,
           "Corrupted inputs that provide what replaces a head's output, as many and as long as the inputs: a text "
           "file, token ids, pixels or features (.npy), or an image. A decoder reads the same targets again")
      .repeated();
  options.add("replace", request.replace, replacement_form(),
              "What a cut edge carries instead: the head's mean output over all inputs, zero, or its output on the "
              "paired input (default: pair with --pairs-with, else mean)");
  options.add("pairs", request.pairs, pair_form(), "Roles of source and target");
  options.add("nodes", request.nodes, nodes_form(),
              "Where the edges end: heads, MLPs, the unembedding; edges to the latter two are chosen by overlap");
  options.add(
      "edges", request.edges,
      "CSV file with columns pair, source, target: cut exactly these edges (pair OQ, OK, OV, or OM and OU, to L4M "
      "and U), instead of choosing");
  options.add("top", request.top, "Edges to cut per pair of roles, by projection kernel, and as many by screen")
      .between(0, kMaxEdges);
  options
      .add("controls", request.controls,
           "Random edges between the same layers and roles, per edge (default: 1; 0 with --edges)")
      .between(0, kMaxEdges);
  options.add("metric", request.metric,
              named_values<PatchMetric>({{PatchMetric::kLoss, "loss"}, {PatchMetric::kLogitDifference, "logit-diff"}}),
              "What a cut is measured on: the loss, or logit(answer) - logit(other)");
  options.add("loss-from", request.loss_from,
              "Position, from 0, of the first prediction that counts (default: 0, or the last one with --answer)");
  options
      .add(
          "answer", request.answers,
          "Right answer: one token of the tokenizer or #ID, or a class; one for all inputs, or one for each. Counts at "
          "the last position, in masked language models at the mask token")
      .repeated();
  options.add("other", request.others, "Wrong answer, for logit-diff").repeated();
  options.add("labels", request.labels,
              "Right answers, an npy file of integers: one class per image, or one token per token of the inputs, "
              "negative where none counts");
  options.add("screen-only", request.screen_only, "Screen all pairs of heads and cut nothing");
  options.add("weights", request.weights, weights_form(),
              "Weights of the projection kernel: folded (norms multiplied in) or raw");
  options.add("draws", request.draws, "Random subspaces per side of the matched null").between(2, 100000);
  options.add("seed", request.seed, "Seed of the controls and of the matched null");
  describe(request.resumption, options);
  describe(request.output, options);
  describe(request.resources, options);
}

std::optional<PatchOutcome> run(const PatchRequest& request, const Context& caller) {
  const Stopwatch watch;
  Context context = make_context(request.resources, caller).on_one_rank();
  const auto opened = request.model.open();
  const Model& model = *opened;
  PatchOutcome outcome;
  outcome.model = model.info();
  outcome.metric = request.metric;
  const PatchOptions options = patch_options(request, model.info().sizes);
  outcome.replacement = options.replacement;
  outcome.top = request.top;
  outcome.given = !options.given.empty() || !options.components.given.empty();
  const InputSources paired_with = paired_sources(request, model);
  const InputSources sources = own_sources(request, paired_with);
  std::vector<DescribedInput> described = read_inputs(model, sources, context);
  read_targets(model, sources, request.targets, described, context);
  context = context.without_memory(memory_of(described));
  std::vector<DescribedInput> described_pairs;
  if (options.replacement == Replacement::kPair) {
    described_pairs = read_inputs(model, paired_with, context);
    read_targets(model, paired_with, request.targets, described_pairs, context);
    context = context.without_memory(memory_of(described_pairs));
  }
  RunCommand command = describe_run(request, model, fingerprint(model), described, described_pairs);
  outcome.warning = unknown_tokens_warning(described);
  const std::vector<ModelInput> inputs = take_inputs(described);
  const std::vector<ModelInput> paired = take_inputs(described_pairs);
  std::vector<std::vector<Readout>> readouts;
  if (!request.screen_only) readouts = make_readouts(request, model, inputs);
  if (has_labels(request)) command.identity["labels_contents"] = fingerprint(readouts);
  if (outcome.given) command.identity["edges_contents"] = fingerprint(options);
  outcome.inputs = inputs.size();
  for (const ModelInput& input : inputs) outcome.tokens += token_count(model, input);

  RunOutput output(target_of(request.output, model), command, watch);
  Resumable resumable(target_of(request.output, model), request.resumption, PatchRequest::kCommand.name);
  FinishedWork* finished = resumable.open(key_of_work(command, context));
  outcome.result = resumable.run([&] { return patch(model, {inputs, paired, readouts}, options, context, finished); });
  write(outcome, output.folder());
  outcome.files = output.finish(context);
  resumable.remove();
  return outcome;
}

}  // namespace headscope
