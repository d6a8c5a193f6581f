#include "headscope/app/capture.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "app/json_text.h"
#include "app/run_output.h"
#include "headscope/base/error.h"
#include "headscope/model/fingerprint.h"
#include "headscope/model/vocabulary.h"
#include "headscope/run/schema.h"
#include "headscope/run/schema/capture.h"

namespace headscope {
namespace {

using namespace app;

const TextForm<Ablation>& ablation_form() {
  static const TextForm<Ablation> kForm =
      named_values<Ablation>({{Ablation::kZero, "zero"}, {Ablation::kMean, "mean"}});
  return kForm;
}

bool wants(const CaptureRequest& request, MapKind kind) {
  return std::ranges::find(request.what, kind) != request.what.end();
}

CaptureOptions capture_options(const CaptureRequest& request, const Model& model) {
  CaptureOptions options;
  options.pattern = wants(request, MapKind::kPattern);
  options.scores = wants(request, MapKind::kScores);
  options.output = request.with_output;
  options.thumbnail = request.thumbnails;
  options.element = request.dtype;
  options.heads = selected_heads(request.selection, model.info().sizes);
  if (request.queries) {
    options.first_query = request.queries->begin;
    options.end_query = request.queries->end;
  }
  return options;
}

RunCommand describe_run(const CaptureRequest& request, const Model& model, std::span<const DescribedInput> inputs) {
  RunCommand command = describe_command(request);
  describe_contents(command, "contents", inputs);
  describe_resources(command, request.resources);
  describe_model(command, model, fingerprint(model));
  return command;
}

// Measures the effect of the ablation, and returns in `replacements` what the heads write instead.
AblationEffect measure_ablation(const CaptureRequest& request, const Model& model,
                                std::span<const DescribedInput> inputs, const Context& context,
                                std::vector<HeadReplacement>& replacements) {
  std::vector<ModelInput> plain;
  for (const DescribedInput& input : inputs) plain.push_back(input.input);
  const bool is_mean = request.ablation == Ablation::kMean;
  const double begin = is_mean ? 1.0 / 3 : 0;  // the mean takes one of three passes
  const double middle = (begin + 1) / 2;
  replacements = is_mean ? mean_ablation(model, request.ablated, plain, context.part(0, begin))
                         : zero_ablation(model, request.ablated);
  const EffectMeter meter(model, plain, {}, context.part(begin, middle));
  return {request.ablated, request.ablation, meter.measure(replacements, context.part(middle, 1))};
}

void add_effect(RunFolder& folder, const AblationEffect& ablation) {
  std::vector<std::string> heads;
  for (const HeadId id : ablation.heads) heads.push_back(to_string(id));
  const Effect& effect = ablation.effect;
  Table table = make_table(run_files::kEffect);
  table.add_row({fmt::format("{}", fmt::join(heads, " ")), ablation_form().format(ablation.ablation),
                 effect.before.loss, effect.after.loss, effect.before.accuracy, effect.after.accuracy, effect.kl,
                 effect.agreement, effect.change});
  folder.add_table(run_files::kEffect, std::move(table));
}

std::vector<std::vector<std::string>> likeliest_tokens(const Model& model, const CaptureResult& result) {
  if (model.info().modality == Modality::kImage) return {};
  const auto vocabulary = Vocabulary::load(model.checkpoint());
  if (!vocabulary) return {};
  std::vector<std::vector<std::string>> tokens(result.inputs.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    for (const auto& [index, probability] : result.inputs[i].likeliest) tokens[i].push_back(vocabulary->token(index));
  }
  return tokens;
}

// The most likely outputs of an input, best first.
std::string likeliest_text(const CaptureOutcome& outcome, std::size_t input) {
  constexpr std::size_t kMaxLength = 60;
  std::string text;
  const auto& likeliest = outcome.result.inputs[input].likeliest;
  for (std::size_t i = 0; i < likeliest.size() && text.size() <= kMaxLength; ++i) {
    const std::string name = outcome.likeliest_tokens.empty() ? std::to_string(likeliest[i].first)
                                                              : fmt::format("'{}'", outcome.likeliest_tokens[input][i]);
    text += fmt::format("{}{} {:.2f}", text.empty() ? "" : ", ", name, likeliest[i].second);
  }
  if (text.empty()) return text;
  return (outcome.model.causal || outcome.model.sizes.has_blocks() ? "; next " : "; output ") + text;
}

std::string input_lines(const CaptureOutcome& outcome) {
  constexpr std::size_t kMaxShown = 8;
  constexpr std::size_t kMaxLength = 60;
  const std::size_t count = outcome.inputs.size();
  std::string lines;
  for (std::size_t i = 0; i < std::min(count, kMaxShown); ++i) {
    const DescribedInput& input = outcome.inputs[i];
    const std::string target =
        input.target_tokens.empty()
            ? ""
            : fmt::format(" -> {}: {} tokens", printable(input.target_source, kMaxLength), input.target_tokens.size());
    lines += fmt::format("  {}: {} tokens{}{}\n", printable(input.source, kMaxLength),
                         outcome.result.inputs[i].tokens.source, target, likeliest_text(outcome, i));
  }
  if (count > kMaxShown) lines += fmt::format("  ... and {} more\n", count - kMaxShown);
  return lines;
}

std::string attention_lines(const CaptureResult& result, bool images) {
  if (result.attention.empty()) return "";
  constexpr std::size_t kShown = 5;
  std::vector<HeadAttention> heads = result.attention;
  const auto line = [&](std::string_view title, auto key) {
    std::ranges::stable_sort(heads, std::greater{}, key);
    std::vector<std::string> best;
    if (heads.empty()) return std::string();
    for (std::size_t i = 0; i < std::min(kShown, heads.size()); ++i) {
      best.push_back(fmt::format("{} {:.2f}", to_string(heads[i].head), std::abs(key(heads[i]))));
    }
    return fmt::format("  {:<22} {}\n", title, fmt::join(best, ", "));
  };
  std::string lines = "Heads by mean attention:\n";
  const std::vector<HeadAttention> all = heads;
  // Queries and keys of cross-attention are different tokens.
  std::erase_if(heads, [](const HeadAttention& one) { return one.head.block == Block::kCross; });
  // The patch before is the left neighbor, or the end of the row above.
  if (!images) lines += line("on the previous token", [](const HeadAttention& head) { return head.previous; });
  lines += line("on the token itself", [](const HeadAttention& head) { return head.itself; });
  heads = all;
  lines += line("on the first token", [](const HeadAttention& head) { return head.first; });
  if (std::ranges::any_of(heads, [](const HeadAttention& head) { return head.sink > 0; })) {
    lines += line("on the sink, no key", [](const HeadAttention& head) { return head.sink; });
  }
  lines += line("lowest entropy (nats)", [](const HeadAttention& head) { return -head.entropy; });
  return lines;
}

std::string ablation_line(const AblationEffect& ablation) {
  std::vector<std::string> heads;
  for (const HeadId id : ablation.heads) heads.push_back(to_string(id));
  const Effect& effect = ablation.effect;
  const std::string what = effect.after.loss ? fmt::format("loss {:.3f} -> {:.3f}, KL {:.3f} nats", *effect.before.loss,
                                                           *effect.after.loss, effect.kl.value_or(0))
                                             : fmt::format("the output changes by {:.1f} %", 100 * effect.change);
  return fmt::format("Without {}: {}\n", fmt::join(heads, ", "), what);
}

}  // namespace

void describe(CaptureRequest& request, OptionList& options) {
  describe(request.model, options);
  describe(request.output, options);  // before "output", so that --output is the folder
  describe(request.inputs, options);
  describe(request.targets, options);
  options.add("what", request.what,
              named_values<MapKind>({{MapKind::kPattern, "pattern"}, {MapKind::kScores, "scores"}}),
              "Maps to keep: pattern (after the softmax), scores (before it), or both");
  options.add("dtype", request.dtype, named_values<RunFloat>({{RunFloat::kF32, "f32"}, {RunFloat::kF16, "f16"}}),
              "Type of the maps in the files");
  describe(request.selection, options);
  options.add("queries", request.queries, range_form(), "Only these rows of the maps, e.g. 0-127");
  options.add("output", request.with_output, "Do not write output.npy (logits or hidden state)");
  options.add("thumbnails", request.thumbnails, "Do not write thumbnail.npy, the image at most 320 pixels a side");
  options.add("ablate", request.ablated, head_form(), "Heads to leave out, e.g. L4H7,L5H1; their effect is measured");
  options.add("ablation", request.ablation, ablation_form(),
              "What an ablated head writes: zeros, or its mean over the inputs");
  describe(request.resources, options);
}

std::optional<CaptureOutcome> run(const CaptureRequest& request, const Context& caller) {
  if (request.ablated.empty() && request.ablation != CaptureRequest{}.ablation) {
    throw Error(ErrorKind::kInvalidArgument, "--ablation is used only by --ablate");
  }
  const Stopwatch watch;
  Context context = make_context(request.resources, caller).on_one_rank();
  const auto opened = request.model.open();
  const Model& model = *opened;
  CaptureOutcome outcome;
  outcome.model = model.info();
  CaptureOptions options = capture_options(request, model);
  outcome.inputs = read_inputs(model, request.inputs, context);
  read_targets(model, request.inputs, request.targets, outcome.inputs, context);
  context = context.without_memory(memory_of(outcome.inputs));
  RunOutput output(target_of(request.output, model), describe_run(request, model, outcome.inputs), watch);
  if (!request.ablated.empty()) {
    outcome.ablation = measure_ablation(request, model, outcome.inputs, context.with_stage("measuring the ablation"),
                                        options.replacements);
    add_effect(output.folder(), *outcome.ablation);
  }
  outcome.result = capture(model, outcome.inputs, output.folder(), options, context.with_stage("running the model"));
  outcome.likeliest_tokens = likeliest_tokens(model, outcome.result);
  outcome.files = output.finish(context);
  return outcome;
}

std::string summary(const CaptureOutcome& outcome) {
  const CaptureResult& result = outcome.result;
  std::string text = fmt::format("{}: {} heads, {} input{}\n", outcome.model.family, result.heads.size(),
                                 outcome.inputs.size(), outcome.inputs.size() == 1 ? "" : "s");
  text += input_lines(outcome);
  if (const auto warning = unknown_tokens_warning(outcome.inputs)) text += fmt::format("warning: {}\n", *warning);
  text += attention_lines(result, outcome.model.modality == Modality::kImage);
  if (outcome.ablation) text += ablation_line(*outcome.ablation);
  const std::string size = fmt::format("{:.1f} MB of maps and outputs", static_cast<double>(result.bytes) / 1e6);
  return text + "\n" + files_line(outcome.files, size);
}

std::string to_json(const CaptureOutcome& outcome) {
  Json root = {{"bytes", outcome.result.bytes}};
  for (const HeadId id : outcome.result.heads) root["heads"].push_back(to_string(id));
  for (const CapturedInput& input : outcome.result.inputs) {
    Json entry = {{"folder", input.folder}, {"tokens", input.tokens.source}, {"queries", input.queries}};
    if (input.tokens.target > 0) entry["target_tokens"] = input.tokens.target;
    for (const auto& [index, probability] : input.likeliest) {
      entry["likeliest"].push_back({{"index", index}, {"probability", probability}});
    }
    root["inputs"].push_back(std::move(entry));
  }
  if (const auto warning = unknown_tokens_warning(outcome.inputs)) root["warnings"].push_back(*warning);
  return json_text(std::move(root), outcome.files);
}

}  // namespace headscope
