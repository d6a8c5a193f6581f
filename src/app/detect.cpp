#include "headscope/app/detect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "app/json_text.h"
#include "app/run_output.h"
#include "headscope/model/fingerprint.h"
#include "headscope/run/schema.h"

namespace headscope {
namespace {

using namespace app;

RunCommand describe_run(const DetectRequest& request, const Model& model) {
  RunCommand command = describe_command(request);
  describe_resources(command, request.resources);
  describe_model(command, model, fingerprint(model.checkpoint()));
  return command;
}

// Names of the detectors that a head passes, separated by spaces.
std::string passed(const HeadScores& head, double threshold) {
  std::vector<std::string_view> names;
  for (std::size_t d = 0; d < kDetectors.size(); ++d) {
    if (head.scores[d].value_or(-1) >= threshold) names.push_back(to_string(kDetectors[d]));
  }
  return fmt::format("{}", fmt::join(names, " "));
}

// The heads that pass a detector, best first; if there are none, the best one.
std::string found_text(const DetectOutcome& outcome, std::size_t detector) {
  constexpr std::size_t kMaxShown = 8;
  std::vector<HeadScores> heads = outcome.result.heads;
  const auto score = [&](const HeadScores& head) { return *head.scores[detector]; };
  std::ranges::stable_sort(heads, std::greater{}, score);
  const auto end = std::ranges::find_if(heads, [&](const HeadScores& head) { return score(head) < outcome.threshold; });
  const auto count = static_cast<std::size_t>(end - heads.begin());
  if (count == 0) return fmt::format("none; the best is {} with {:.2f}", to_string(heads[0].head), score(heads[0]));
  std::vector<std::string> found;
  for (std::size_t i = 0; i < std::min(count, kMaxShown); ++i) {
    found.push_back(fmt::format("{} {:.2f}", to_string(heads[i].head), score(heads[i])));
  }
  if (count > kMaxShown) found.push_back(fmt::format("and {} more", count - kMaxShown));
  return fmt::format("{}", fmt::join(found, ", "));
}

}  // namespace

void describe(DetectRequest& request, OptionList& options) {
  describe(request.model, options);
  options.add("sequences", request.sequences, "Random sequences to average over").between(1, 100000);
  options.add("length", request.length, "Tokens per sequence; the second half repeats the first");
  options.add("bos", request.bos, "Do not start sequences with the model's BOS token");
  options.add("threshold", request.threshold, "Score from which a head counts as detected").between(0, 1);
  options.add("labels", request.labels, "Also write labels.json, an input of relate --labels");
  options.add("seed", request.seed, "Seed of the sequences");
  describe(request.output, options);
  describe(request.resources, options);
}

std::optional<DetectOutcome> run(const DetectRequest& request, const Context& caller) {
  const Stopwatch watch;
  const Context context = make_context(request.resources, caller).on_one_rank();
  const auto opened = request.model.open();
  const Model& model = *opened;
  DetectOutcome outcome;
  outcome.model = model.info();
  outcome.options.sequences = request.sequences;
  outcome.options.length = request.length;
  outcome.options.seed = request.seed;
  outcome.options.without_bos = !request.bos;
  outcome.threshold = request.threshold;
  outcome.has_labels = request.labels;
  RunOutput output(request.output, describe_run(request, model), watch);
  outcome.result = detect(model, outcome.options, context.with_stage("running random sequences"));
  write(outcome, output.folder());
  outcome.files = output.finish(context);
  return outcome;
}

void write(const DetectOutcome& outcome, RunFolder& folder) {
  Table table = make_table(run_files::kDetectors);
  for (const HeadScores& head : outcome.result.heads) {
    std::vector<Cell> row = {to_string(head.head), head.head.layer, head.head.head};
    row.insert(row.end(), head.scores.begin(), head.scores.end());
    row.emplace_back(outcome.threshold);
    row.emplace_back(passed(head, outcome.threshold));
    table.add_row(row);
  }
  folder.add_table(run_files::kDetectors, std::move(table));
  if (outcome.has_labels) {
    folder.add_text(describe(run_files::kDetectedLabels), labels_from(outcome.result, outcome.threshold, "detected"));
  }
}

std::string summary(const DetectOutcome& outcome) {
  const DetectResult& result = outcome.result;
  std::string text = fmt::format("{} random sequences of {} tokens{}, threshold {}\n", result.sequences, result.length,
                                 result.bos ? fmt::format(" after token {}", *result.bos) : "", outcome.threshold);
  for (std::size_t d = 0; d < kDetectors.size(); ++d) {
    if (!result.heads.front().scores[d]) continue;
    text += fmt::format("  {:<10} {}\n", to_string(kDetectors[d]), found_text(outcome, d));
  }
  return text + "\n" + files_line(outcome.files);
}

std::string to_json(const DetectOutcome& outcome) {
  const DetectResult& result = outcome.result;
  Json root = {{"sequences", result.sequences},
               {"length", result.length},
               {"seed", outcome.options.seed},
               {"threshold", outcome.threshold},
               {"bos", result.bos ? Json(*result.bos) : Json()}};
  for (const HeadScores& head : result.heads) {
    Json entry = {{"head", to_string(head.head)}};
    for (std::size_t d = 0; d < kDetectors.size(); ++d) {
      if (head.scores[d]) entry[std::string(to_string(kDetectors[d]))] = *head.scores[d];
    }
    root["heads"].push_back(std::move(entry));
  }
  return json_text(root);
}

}  // namespace headscope
