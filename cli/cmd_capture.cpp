#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/head_choice.h"
#include "cli/host.h"
#include "cli/input_options.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/run_output.h"
#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "headscope/base/system.h"
#include "headscope/capture/capture.h"
#include "headscope/forward/ablation.h"
#include "headscope/forward/effect.h"
#include "headscope/io/csv.h"
#include "headscope/model/fingerprint.h"

namespace headscope::cli {
namespace {

struct Args {
  ModelWords model;
  std::filesystem::path run;
  InputWords inputs;
  HeadChoiceWords heads;
  std::vector<std::string> what = {"pattern", "scores"};
  std::string dtype = "f32";
  std::string queries;
  bool no_output = false;
  std::vector<std::string> ablated;
  std::string ablation = "zero";
  std::string memory = "2G";
  bool json = false;
  bool force = false;
};

std::size_t parse_number(std::string_view text, const std::string& whole) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("--queries: '{}' is not a range such as 0-127", whole));
  }
  return value;
}

// "5" or "10-20", both ends included.
void set_queries(const std::string& text, CaptureOptions& options) {
  if (text.empty()) return;
  const std::size_t dash = text.find('-');
  options.first_query = parse_number(std::string_view(text).substr(0, dash), text);
  const std::size_t last =
      dash == std::string::npos ? options.first_query : parse_number(std::string_view(text).substr(dash + 1), text);
  if (last < options.first_query) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("--queries: '{}' ends before it begins", text));
  }
  options.end_query = last < std::numeric_limits<std::size_t>::max() ? last + 1 : last;
}

CaptureOptions parse_options(const Args& args, const Model& model) {
  CaptureOptions options;
  options.pattern = options.scores = false;
  for (const std::string& word : args.what) {
    if (word != "pattern" && word != "scores") {
      throw Error(ErrorKind::kInvalidArgument, fmt::format("--what: '{}' is neither pattern nor scores", word));
    }
    (word == "pattern" ? options.pattern : options.scores) = true;
  }
  options.output = !args.no_output;
  options.element = args.dtype == "f16" ? RunFloat::kF16 : RunFloat::kF32;
  options.heads = chosen_heads(parse_head_choice(args.heads), model.info().sizes);
  set_queries(args.queries, options);
  return options;
}

std::vector<HeadId> parse_heads(const std::vector<std::string>& words) {
  std::vector<HeadId> heads;
  for (const std::string& word : words) {
    const auto id = parse_head(word);
    if (!id) throw Error(ErrorKind::kInvalidArgument, fmt::format("--ablate: '{}' is not a head such as L4H7", word));
    heads.push_back(*id);
  }
  return heads;
}

RunCommand describe(const Args& args, const Model& model, std::span<const DescribedInput> inputs) {
  RunCommand command;
  command.name = "capture";
  command.identity = {{"inputs", args.inputs.described()},
                      {"contents", fingerprint(inputs)},
                      {"what", fmt::format("{}{}", fmt::join(args.what, ","), args.no_output ? "" : ",output")},
                      {"dtype", args.dtype},
                      {"layers", fmt::format("{}", fmt::join(args.heads.layers, ","))},
                      {"heads", fmt::format("{}", fmt::join(args.heads.heads, ","))},
                      {"queries", args.queries},
                      {"ablated", fmt::format("{} ({})", fmt::join(args.ablated, ","), args.ablation)},
                      {"version", HEADSCOPE_VERSION}};
  command.circumstances = {{"threads", std::to_string(thread_count())}, {"memory", args.memory}};
  describe_model(command, model, fingerprint(model.checkpoint()));
  return command;
}

// What leaving the heads out does to the model's output on these inputs: effect.csv.
Effect add_effect(const Args& args, const Model& model, std::span<const DescribedInput> inputs, RunFolder& run,
                  std::size_t memory, CaptureOptions& options) {
  std::vector<ModelInput> plain;
  for (const DescribedInput& input : inputs) plain.push_back(input.input);
  Context context;
  context.memory = memory;
  context.poll = check_for_interrupt;
  const std::vector<HeadId> heads = parse_heads(args.ablated);
  options.replacements =
      args.ablation == "mean" ? mean_ablation(model, heads, plain, context) : zero_ablation(model, heads);
  const Effect effect = EffectMeter(model, plain, {}, context).measure(options.replacements, context);
  const auto cell = [](const std::optional<double>& value) { return value ? csv_number(*value) : std::string(); };
  CsvTable table({"ablated", "ablation", "loss_before", "loss_after", "accuracy_before", "accuracy_after", "kl",
                  "agreement", "change"});
  table.add_row(std::vector<std::string>{fmt::format("{}", fmt::join(args.ablated, " ")), args.ablation,
                                         cell(effect.before.loss), cell(effect.after.loss),
                                         cell(effect.before.accuracy), cell(effect.after.accuracy), cell(effect.kl),
                                         cell(effect.agreement), csv_number(effect.change)});
  run.add_text({.name = "effect.csv",
                .kind = "table",
                .about = "What leaving the ablated heads out does to the output: loss, accuracy, KL, agreement.",
                .shape = {table.rows(), table.columns()}},
               table.text());
  return effect;
}

std::string shortened(const std::string& text) {
  constexpr std::size_t kMaxLength = 60;
  return printable(text, kMaxLength);
}

void print_inputs(Session& session, const Model& model, std::span<const DescribedInput> inputs,
                  const CaptureResult& result) {
  const auto vocabulary =
      model.info().modality == Modality::kText ? Vocabulary::load(model.checkpoint()) : std::nullopt;
  constexpr std::size_t kMaxShown = 8;
  for (std::size_t i = 0; i < std::min(inputs.size(), kMaxShown); ++i) {
    const CapturedInput& one = result.inputs[i];
    std::string best;
    for (const auto& [index, probability] : one.likeliest) {
      if (best.size() > 60) break;
      const std::string name = vocabulary ? fmt::format("'{}'", vocabulary->token(index)) : std::to_string(index);
      best += fmt::format("{}{} {:.2f}", best.empty() ? "" : ", ", name, probability);
    }
    session.out << fmt::format("  {}: {} tokens{}{}\n", shortened(inputs[i].source), one.tokens,
                               best.empty()          ? ""
                               : model.info().causal ? "; next "
                                                     : "; output ",
                               best);
  }
  if (inputs.size() > kMaxShown) session.out << fmt::format("  ... and {} more\n", inputs.size() - kMaxShown);
}

void print_attention(Session& session, const CaptureResult& result) {
  if (result.attention.empty()) return;
  std::vector<HeadAttention> heads = result.attention;
  constexpr std::size_t kShown = 5;
  const auto line = [&](const char* what, auto key, const char* format) {
    std::ranges::stable_sort(heads, std::greater{}, key);
    std::string text;
    for (std::size_t i = 0; i < std::min(kShown, heads.size()); ++i) {
      text += fmt::format(fmt::runtime(format), i == 0 ? "" : ", ", to_string(heads[i].head), std::abs(key(heads[i])));
    }
    session.out << fmt::format("  {:<22} {}\n", what, text);
  };
  session.out << "Heads by where they look, on average:\n";
  line(
      "at the token before", [](const HeadAttention& h) { return h.previous; }, "{}{} {:.2f}");
  line(
      "at themselves", [](const HeadAttention& h) { return h.itself; }, "{}{} {:.2f}");
  line(
      "at the first token", [](const HeadAttention& h) { return h.first; }, "{}{} {:.2f}");
  line(
      "most focused (nats)", [](const HeadAttention& h) { return -h.entropy; }, "{}{} {:.2f}");
}

nlohmann::ordered_json as_json(const CaptureResult& result, const std::vector<std::string>& files, const Args& args,
                               double seconds) {
  nlohmann::ordered_json root = {{"run", args.run.string()}, {"seconds", seconds}, {"bytes", result.bytes}};
  for (const HeadId& id : result.heads) root["heads"].push_back(to_string(id));
  for (const CapturedInput& input : result.inputs) {
    nlohmann::ordered_json entry = {{"folder", input.folder}, {"tokens", input.tokens}, {"queries", input.queries}};
    for (const auto& [index, probability] : input.likeliest) {
      entry["likeliest"].push_back({{"index", index}, {"probability", probability}});
    }
    root["inputs"].push_back(std::move(entry));
  }
  root["files"] = files;
  return root;
}

void run_capture(const Args& args, Session& session) {
  const auto begin = std::chrono::steady_clock::now();
  const auto opened = open_model(session, args.model);
  const Model& model = *opened;
  CaptureOptions options = parse_options(args, model);
  const std::size_t memory = parse_size(args.memory);
  const std::vector<DescribedInput> inputs = read_inputs(model, args.inputs, session);
  watch_for_interrupts();
  RunFolder run = begin_run(session, args.run, describe(args, model, inputs), args.force);
  std::optional<Effect> effect;
  if (!args.ablated.empty()) effect = add_effect(args, model, inputs, run, memory, options);
  constexpr std::size_t kSteps = 1000;
  CaptureResult result;
  {
    Progress progress(session, "running the model", kSteps);
    result = capture(model, inputs, run, options, progress.context(memory));
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  run.circumstances()["seconds"] = fmt::format("{:.2f}", seconds);
  run.circumstances()["peak_memory"] = std::to_string(peak_memory());
  check_for_interrupt();
  const std::vector<std::string> files = run.files();
  run.commit();
  if (args.json) {
    session.out
        << as_json(result, files, args, seconds).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
        << '\n';
    return;
  }
  session.out << fmt::format("{}: {} heads, {} input{}\n", model.info().family, result.heads.size(), inputs.size(),
                             inputs.size() == 1 ? "" : "s");
  print_inputs(session, model, inputs, result);
  print_attention(session, result);
  if (effect && effect->after.loss) {
    session.out << fmt::format("Without {}: loss {:.3f} -> {:.3f}, KL {:.3f} nats\n", fmt::join(args.ablated, ", "),
                               *effect->before.loss, *effect->after.loss, effect->kl.value_or(0));
  } else if (effect) {
    session.out << fmt::format("Without {}: the output changes by {:.1f} %\n", fmt::join(args.ablated, ", "),
                               100 * effect->change);
  }
  session.out << fmt::format("\n{} files in {} ({:.1f} MB of maps and outputs, {:.1f} s)\n", files.size(),
                             printable(run.path().string(), 4096), static_cast<double>(result.bytes) / 1e6, seconds);
}

}  // namespace

void add_capture_command(Command& app, Session& session) {
  auto args = std::make_shared<Args>();  // lives as long as the callback
  Command command = app.add_command("capture", "Run the model and keep its attention maps");
  add_model_options(command, args->model);
  command.add_option("-o,--output", args->run, "Folder for the results").required();
  add_input_options(command, args->inputs);
  command.add_option("--what", args->what, "pattern (after the softmax), scores (before it), or both")
      .list()
      .with_default();
  command.add_option("--dtype", args->dtype, "Of the maps on disk: f32 or f16").one_of({"f32", "f16"}).with_default();
  add_head_choice_options(command, args->heads);
  command.add_option("--queries", args->queries, "Only these rows of the maps, e.g. 0-127");
  command.add_flag("--no-output", args->no_output, "Do not write output.npy (logits or hidden state)");
  command.add_option("--ablate", args->ablated, "Heads to leave out, e.g. L4H7,L5H1; their effect is measured").list();
  command.add_option("--ablation", args->ablation, "What an ablated head writes: nothing, or its mean over the inputs")
      .one_of({"zero", "mean"})
      .with_default();
  command.add_option("--memory", args->memory, "Budget, e.g. 8G").with_default();
  command.add_flag("--json", args->json, "Print what was done as JSON");
  command.add_flag("--force", args->force, "Replace the result of another run in the folder");
  add_threads_option(command);
  add_quiet_option(command, session);
  command.footer("Example: headscope capture models/gpt2 -o runs/gpt2 --text \"When Mary and John went to the store\"");
  command.callback([args, &session] { run_capture(*args, session); });
}

}  // namespace headscope::cli
