#include "headscope/app/softmax.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/input_folders.h"
#include "app/map_source.h"
#include "app/run_output.h"
#include "headscope/base/error.h"
#include "headscope/base/median.h"
#include "headscope/run/schema/softmax.h"

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
  options.control = request.control;
  options.seed = request.seed;
  return options;
}

RunCommand describe_run(const SoftmaxRequest& request, const MapSource& source, const InputFolders& folders) {
  RunCommand command = describe_command(request);
  describe_maps(command.identity, source);
  if (const std::string others = fingerprint_of_others(folders, request.maps.what); !others.empty()) {
    command.identity["other_inputs"] = others;
  }
  describe_inputs(command, request.maps, folders, name_of(source));
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

// Bytes per entry of one map. In double: scores, their softmax, the parts of its paraproduct, coefficients, the same of
// the control.
constexpr MapUse kUse = {.copies = 1, .per_entry = 128, .one_by_one = true};

// Analyzes all heads; writes their arrays if there is a folder.
std::vector<HeadInvariance> analyze(const MapSource& source, const SoftmaxOptions& options, RunFolder* folder,
                                    const Context& context) {
  const NetworkTensor& maps = source.tensor;
  const Context rest = context.without_memory(maps.values.size() * kEntryBytes + maps.map_size() * kUse.per_entry +
                                              pair_memory(maps.extents));
  const auto heads = static_cast<double>(source.tensor.heads());
  std::vector<HeadInvariance> result;
  for (std::size_t h = 0; h < source.tensor.heads(); ++h) {
    const Context part = rest.part(static_cast<double>(h) / heads, static_cast<double>(h + 1) / heads);
    HeadInvariance head = softmax_invariance(source.tensor, h, options, part);
    if (folder != nullptr) add_arrays(*folder, head);
    head.scores = {};
    head.parts = {};
    result.push_back(std::move(head));
  }
  return result;
}

// Median over the heads for which a figure is defined; NaN if there are none.
template <typename Figure>
double median_of(const std::vector<HeadInvariance>& heads, const Figure& figure) {
  std::vector<double> values;
  for (const HeadInvariance& head : heads) {
    const double value = figure(head);
    if (!std::isnan(value)) values.push_back(value);
  }
  return values.empty() ? std::nan("") : median(std::move(values));
}

SoftmaxInput summarize(const MapSource& source, const std::vector<HeadInvariance>& heads) {
  const auto of_control = [](const HeadInvariance& head, auto figure) {
    return head.control ? figure(*head.control) : std::nan("");
  };
  return {.name = name_of(source),
          .queries = source.tensor.queries(),
          .keys = source.tensor.keys(),
          .error = median_of(heads, [](const HeadInvariance& head) { return head.found.error_second; }),
          .error_shuffled = median_of(heads, [](const HeadInvariance& head) { return head.shuffled.error_second; }),
          .error_control = median_of(heads,
                                     [&](const HeadInvariance& head) {
                                       return of_control(head, [](const auto& one) { return one.error_second; });
                                     }),
          .agreement = median_of(heads,
                                 [](const HeadInvariance& head) {
                                   return (head.scores_softmax.cophenetic_query + head.scores_softmax.cophenetic_key) /
                                          2;
                                 }),
          .agreement_control = median_of(heads, [&](const HeadInvariance& head) {
            return of_control(head, [](const auto& one) { return (one.cophenetic_query + one.cophenetic_key) / 2; });
          })};
}

}  // namespace

void describe(SoftmaxRequest& request, OptionList& options) {
  describe(request.maps, options);
  options.add("iterations", request.iterations, "Iterations of the questionnaire in two axes")
      .between(1, kMaxIterations);
  options.add("boundary", request.boundary,
              named_values<BoundaryOrder>({{BoundaryOrder::kFirst, "first"}, {BoundaryOrder::kSecond, "second"}}),
              "Order of the differences along one axis: first or second");
  options.add("paraproduct", request.paraproduct, kept_form(),
              "Write the arrays of 'all' heads or of 'none' (default: all if --heads selects some)");
  options.add("draws", request.draws, "Shuffled trees for comparison").between(1, 1000);
  options.add("control", request.control, "Control: scores permuted within rows, organized again");
  options.add("inputs", request.inputs, "Analyze at most this many of the inputs that 'capture' wrote")
      .between(1, 1000000);
  options.add("seed", request.seed, "Seed of the shuffled trees and of the control");
  describe(request.output, options);
  describe(request.resources, options);
}

std::optional<SoftmaxOutcome> run(const SoftmaxRequest& given, const Context& caller) {
  const Stopwatch watch;
  SoftmaxRequest request = given;
  request.maps = with_chosen_input(request.maps);
  const Context context = make_context(request.resources, caller).on_one_rank().with_stage("decomposing softmax");
  MapSource source = load_maps(request.maps, /*keep_absent=*/true, kUse, context);
  const InputFolders folders = find_input_folders(request.maps, request.inputs, context.ranks);
  RunOutput output(request.output, describe_run(given, source, folders), watch);
  SoftmaxOutcome outcome;
  const double all = static_cast<double>(std::max<std::size_t>(1, folders.used.size()));
  const KeptArrays kept = kept_arrays(request);
  outcome.heads = analyze(source, softmax_options(request), kept == KeptArrays::kAll ? &output.folder() : nullptr,
                          context.part(0, 1 / all));
  outcome.inputs.push_back(summarize(source, outcome.heads));
  outcome.maps = std::move(source.info);
  source.tensor = {};
  for (std::size_t i = 1; i < folders.used.size(); ++i) {
    const Context part = context.part(static_cast<double>(i) / all, static_cast<double>(i + 1) / all);
    try {
      const MapSource other = load_maps(in_folder(request.maps, folders.used[i]), /*keep_absent=*/true, kUse, context);
      outcome.inputs.push_back(summarize(other, analyze(other, softmax_options(request), nullptr, part)));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInvalidArgument && error.kind() != ErrorKind::kUnsupported) throw;
      outcome.left_out.push_back(fmt::format("input {}: {}", i, error.what()));
    }
  }
  if (folders.left_out > 0) outcome.left_out.push_back(left_out_text(folders));
  write(outcome, output.folder());
  output.folder().verdict() = verdict(outcome);
  outcome.files = output.finish(context);
  return outcome;
}

}  // namespace headscope
