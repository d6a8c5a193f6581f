#include "headscope/app/prune.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/run_output.h"
#include "headscope/apply/output_bias.h"
#include "headscope/apply/pruned_checkpoint.h"
#include "headscope/base/error.h"
#include "headscope/io/npy.h"
#include "headscope/model/fingerprint.h"

namespace headscope {
namespace {

using namespace app;

TextForm<PruneCriterion> criterion_form() {
  std::vector<std::pair<PruneCriterion, std::string>> names;
  for (const PruneCriterion criterion : kPruneCriteria) names.emplace_back(criterion, to_string(criterion));
  TextForm<PruneCriterion> form = named_values(std::move(names));
  form.choices.emplace_back("all");
  form.parse = [one = form.parse](const std::string& text) -> std::optional<std::vector<PruneCriterion>> {
    if (text == "all") return std::vector(kPruneCriteria.begin(), kPruneCriteria.end());
    return one(text);
  };
  return form;
}

std::vector<std::size_t> read_labels(const PruneRequest& request) {
  if (!request.labels_in_memory.empty() || request.labels.empty()) return request.labels_in_memory;
  const NpyFile file = NpyFile::open(request.labels);
  std::vector<std::size_t> labels;
  for (const std::int64_t label : npy_values<std::int64_t>(file.array(), request.labels.string())) {
    if (label < 0) {
      throw Error(ErrorKind::kFormat, fmt::format("{}: label {} is negative", request.labels.string(), label));
    }
    labels.push_back(static_cast<std::size_t>(label));
  }
  return labels;
}

PruneOptions prune_options(const PruneRequest& request, const Model& model) {
  PruneOptions options;
  options.criteria = request.criteria;
  options.replace = request.replace;
  options.budget = {.count = request.count, .fraction = request.fraction, .per_layer = request.per_layer};
  options.removable = selected_heads(request.selection, model.info().sizes);
  options.kept = request.protected_heads;
  options.points = request.points;
  options.measure = request.damage;
  options.candidates = request.candidates;
  options.seeds = request.seeds;
  options.orders = request.orders;
  options.seed = request.seed;
  options.choose_on = request.choose_on;
  options.map_inputs = request.map_inputs;
  options.skip_first = request.skip_first;
  options.labels = read_labels(request);
  return options;
}

// Checks that the files can hold the means of removed heads.
void check_means(const Model& model) {
  const OutputBias bias = find_output_bias(model);
  if (bias.kind != BiasKind::kNone) return;
  throw Error(ErrorKind::kUnsupported,
              fmt::format("{}: --replace mean: the means cannot be stored, because {}; use --replace zero",
                          model.checkpoint().path().string(), bias.why_not));
}

void check_written(const PruneRequest& request, const Model& model) {
  if (request.write == "none") return;
  const auto criterion = parse_prune_criterion(request.write);
  const bool requested = criterion && std::ranges::find(request.criteria, *criterion) != request.criteria.end();
  if (request.write != "best" && !requested) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--write: expected best, none or one of the requested criteria, found '{}'",
                            printable(request.write, 60)));
  }
  try {
    check_prunable(model);  // before hours of measuring
    if (request.replace == Ablation::kMean) check_means(model);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUnsupported) throw;
    throw Error(error.kind(), std::string(error.what()) + "; --write none ranks and measures without writing");
  }
}

RunCommand describe_run(const PruneRequest& request, const Model& model, std::span<const DescribedInput> inputs) {
  RunCommand command = describe_command(request);
  describe_contents(command, "contents", inputs);
  describe_resources(command, request.resources);
  describe_model(command, model, fingerprint(model));
  return command;
}

// The ranking whose heads are removed from the checkpoint.
std::optional<std::size_t> ranking_to_write(const PruneRequest& request, const PruneResult& result) {
  if (request.write == "none") return std::nullopt;
  if (request.write == "best") return result.best ? result.best : std::optional<std::size_t>(0);
  for (std::size_t r = 0; r < result.rankings.size(); ++r) {
    if (to_string(result.rankings[r].criterion) == request.write) return r;
  }
  return std::nullopt;
}

// Whether transformers has to be told about the biases: from a GGUF file it takes no such setting.
bool needs_bias_argument(const PruneResult& result, const Model& model) {
  return result.replacement == Ablation::kMean && model.checkpoint().is_gguf() &&
         find_output_bias(model).kind == BiasKind::kAdded;
}

}  // namespace

void describe(PruneRequest& request, OptionList& options) {
  constexpr double kMaxCount = 100000;
  describe(request.model, options);
  describe(request.inputs, options);
  options.add("labels", request.labels, "Correct classes of the images, an npy file of integers, one per input");
  options.add("criteria", request.criteria, criterion_form(), "Criteria by which heads are removed, or all");
  options.add(
      "replace", request.replace, named_values<Ablation>({{Ablation::kMean, "mean"}, {Ablation::kZero, "zero"}}),
      "What removed heads write: their mean over the inputs used to choose, as a bias of the output projection, "
      "or zeros (default: mean if the model's files can hold it)");
  options.add("count", request.count, "Number of heads to remove").at_least(1);
  options.add("fraction", request.fraction, "Fraction of the heads to remove").between(0, 1).excludes("count");
  options.add("per-layer", request.per_layer, "Apply the budget to every layer instead of to the whole model");
  options.add("protect", request.protected_heads, head_form(), "Heads to keep whatever their score, e.g. L0H3,L4H7");
  describe(request.selection, options);
  options.add("damage", request.damage,
              named_values<DamageMeasure>({{DamageMeasure::kLoss, "loss"}, {DamageMeasure::kKl, "kl"}}),
              "Measure of greedy, alone and best: loss, or kl to the unpruned output");
  options.add("points", request.points, "Points per curve").between(1, kMaxCount);
  options.add("candidates", request.candidates, "Heads that greedy measures at each step; 0: all");
  options.add("choose-on", request.choose_on,
              "Number of inputs used to choose heads; the others are used to measure; 0: all for both");
  options.add("map-inputs", request.map_inputs, "Maximum number of inputs whose attention is organized")
      .between(1, 1000000);
  options.add("skip-first", request.skip_first, "Number of first tokens to leave out of the organization");
  options.add("write", request.write, "Criterion whose model to write: best, none or its name");
  options.add("seeds", request.seeds, "Number of random orders that have a curve").between(1, kMaxCount);
  options
      .add("orders", request.orders,
           "Maximum number of random orders at the full budget, plain and, per criterion, matched by layer "
           "(default: 100, or 20 per criterion if that is more)")
      .between(0, kMaxCount);
  options.add("seed", request.seed, "Seed of the first of them");
  describe(request.output, options);
  describe(request.resources, options);
}

std::optional<PruneOutcome> run(const PruneRequest& request, const Context& caller) {
  const Stopwatch watch;
  Context context = make_context(request.resources, caller);
  const auto opened = request.model.open();
  const Model& model = *opened;
  require_one_block(model, "prune");
  const PruneOptions options = prune_options(request, model);
  check_written(request, model);
  std::vector<DescribedInput> described = read_inputs(model, request.inputs, context);
  context = context.without_memory(memory_of(described));
  RunOutput output(target_of(request.output, model), describe_run(request, model, described), watch);
  std::vector<ModelInput> inputs;
  for (DescribedInput& input : described) inputs.push_back(std::move(input.input));
  PruneOutcome outcome;
  outcome.model = request.model.path.string();
  outcome.protected_heads = request.protected_heads;
  outcome.result = prune(model, inputs, options, context.with_stage("pruning"));
  outcome.written = ranking_to_write(request, outcome.result);
  write(outcome, output.folder());
  if (outcome.written) {
    add_pruned_checkpoint(output.folder(), model, outcome.result.replacements(*outcome.written, model), "pruned",
                          context.with_stage("writing the pruned model"));
    outcome.bias_argument = needs_bias_argument(outcome.result, model);
  }
  outcome.files = output.finish(context);
  return outcome;
}

}  // namespace headscope
