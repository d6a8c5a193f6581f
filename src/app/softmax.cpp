#include "headscope/app/softmax.h"

#include <utility>

#include "app/map_source.h"
#include "app/run_output.h"
#include "headscope/run/schema.h"

namespace headscope {
namespace {

using namespace app;

TextForm<KeptArrays> kept_form() {
  return named_values<KeptArrays>({{KeptArrays::kAll, "all"}, {KeptArrays::kNone, "none"}});
}

KeptArrays kept_arrays(const SoftmaxRequest& request) {
  const bool some = !request.maps.selection.heads.empty();
  return request.paraproduct.value_or(some ? KeptArrays::kAll : KeptArrays::kNone);
}

SoftmaxOptions softmax_options(const SoftmaxRequest& request) {
  SoftmaxOptions options;
  options.questionnaire.iterations = request.iterations;
  options.boundary = request.boundary;
  options.draws = request.draws;
  options.seed = request.seed;
  return options;
}

RunCommand describe_run(const SoftmaxRequest& request, const MapSource& source) {
  RunCommand command = describe_command(request);
  describe_maps(command.identity, source);
  command.identity["paraproduct"] = kept_form().format(kept_arrays(request));
  describe_resources(command, request.resources);
  return command;
}

void add_arrays(RunFolder& folder, const HeadInvariance& head) {
  const std::vector<std::pair<std::string, const DoubleMatrix*>> matrices = {
      {"scores", &head.scores},
      {"softmax", &head.parts.target},
      {"first_order", &head.parts.first_order},
      {"approximation", &head.parts.second_order}};
  folder.add_matrices(
      describe(run_files::kParaproduct, {{"head", head.head}}, {head.scores.rows(), head.scores.columns()}), matrices);
}

}  // namespace

void describe(SoftmaxRequest& request, OptionList& options) {
  describe(request.maps, options);
  options.add("iterations", request.iterations, "Iterations of the questionnaire in two axes");
  options.add("boundary", request.boundary,
              named_values<BoundaryOrder>({{BoundaryOrder::kFirst, "first"}, {BoundaryOrder::kSecond, "second"}}),
              "Order of the differences along one axis: first or second");
  options.add("paraproduct", request.paraproduct, kept_form(),
              "Write the arrays of 'all' heads or of 'none' (default: all if --heads selects some)");
  options.add("draws", request.draws, "Shuffled trees for comparison").between(1, 1000);
  options.add("seed", request.seed, "Seed of the shuffled trees");
  describe(request.output, options);
  describe(request.resources, options);
}

std::optional<SoftmaxOutcome> run(const SoftmaxRequest& request, const Context& caller) {
  const Stopwatch watch;
  const Context context = make_context(request.resources, caller).on_one_rank().with_stage("decomposing softmax");
  MapSource source = load_maps(request.maps, /*keep_absent=*/true, context);
  RunOutput output(request.output, describe_run(request, source), watch);
  SoftmaxOutcome outcome;
  const SoftmaxOptions options = softmax_options(request);
  const Context half = context.with_memory(context.memory / 2);  // the maps have the other half
  const auto heads = static_cast<double>(source.tensor.heads());
  for (std::size_t h = 0; h < source.tensor.heads(); ++h) {
    const Context part = half.part(static_cast<double>(h) / heads, static_cast<double>(h + 1) / heads);
    HeadInvariance head = softmax_invariance(source.tensor, h, options, part);
    if (kept_arrays(request) == KeptArrays::kAll) add_arrays(output.folder(), head);
    head.scores = {};
    head.parts = {};
    outcome.heads.push_back(std::move(head));
  }
  outcome.maps = std::move(source.info);
  write(outcome, output.folder());
  outcome.files = output.finish(context);
  return outcome;
}

}  // namespace headscope
