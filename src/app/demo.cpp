#include "headscope/app/demo.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "app/bundled_models.h"
#include "app/demo_story.h"
#include "app/fetched_models.h"
#include "app/json_text.h"
#include "app/run_output.h"
#include "headscope/app/capture.h"
#include "headscope/app/compare.h"
#include "headscope/app/detect.h"
#include "headscope/app/inspect.h"
#include "headscope/app/organize.h"
#include "headscope/app/patch.h"
#include "headscope/app/prune.h"
#include "headscope/app/relate.h"
#include "headscope/app/report.h"
#include "headscope/app/softmax.h"
#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "headscope/io/npy.h"
#include "headscope/model/model_facts.h"
#include "headscope/model/network.h"

namespace headscope {
namespace {

using namespace app;
namespace fs = std::filesystem;

// A list that the language model has to repeat: long enough for the maps to show something.
constexpr const char* kList =
    "List: key tower frog heavy bell Simon kite carried cold. Again: key tower frog heavy bell Simon kite carried "
    "cold.";

// A head that costs less than this many nats alone is not needed.
constexpr double kLittle = 0.1;

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  if (lines.empty()) throw Error(ErrorKind::kIo, fmt::format("{}: has no lines", path.string()));
  return lines;
}

std::vector<fs::path> sorted_files(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, error)) files.push_back(entry.path());
  if (files.empty()) throw Error(ErrorKind::kIo, fmt::format("{}: has no files", folder.string()));
  std::ranges::sort(files);
  return files;
}

/// One run of the demo: the steps, and where their text goes.
class Demo {
 private:
  void print(std::string_view text) const {
    if (request_.print) request_.print(text);
  }

  // Runs a command, and shows it as it would be typed.
  template <typename Request>
  auto step(Request request) {
    constexpr std::size_t kMaxLength = 160;
    std::string line = fmt::format("$ headscope {}", Request::kCommand.name);
    for (const std::string& word : options_of(request).words()) {
      line += ' ' + (word.find(' ') == std::string::npos ? word : '"' + word + '"');
    }
    if (line.size() > kMaxLength) line = line.substr(0, kMaxLength) + " ...";
    print("\n" + line + "\n");
    auto outcome = run(request, context_);
    print(summary(*outcome));
    return std::move(*outcome);
  }

 public:
  Demo(const DemoRequest& request, Context context) : request_(request), context_(std::move(context)) {
    context_.on_progress = nullptr;  // every step is short
  }

  void language(const fs::path& model, const fs::path& run) {
    print("A language model of 4 layers and 32 heads that tells who was given what, and repeats lists.\n");
    step(InspectRequest{.model = {.path = model}});
    const auto detected =
        step(DetectRequest{.model = {.path = model}, .labels = true, .output = {.run = run, .force = true}});
    const auto related = step(RelateRequest{.model = {.path = model},
                                            .metrics = {Metric::kPk, Metric::kCs},
                                            .labels = model / "labels.json",
                                            .output = {.run = run, .force = true}});
    step(CaptureRequest{.model = {.path = model},
                        .inputs = {.texts = {kList}, .text_files = {model / "samples.txt"}, .lines = true},
                        .output = {.run = run, .force = true}});
    std::vector<std::string> lists;
    for (const std::string& text : lines_of(model / "samples.txt")) {
      if (text.find("gain:") != std::string::npos) lists.push_back(text);
    }
    const Model opened = Model::open(model);
    describe_circuit(opened, related.result, detected.result, {.texts = lists, .unit = "word"});
    cut_edges(opened, detected.result.bos, model, run);
    organize_and_softmax(run);
  }

  // The story of any other model: what it is, what its heads do, which of them are connected, and one text.
  void other(const NamedModel& named, const fs::path& run) {
    print(fmt::format("The same commands on {}.\n", named.name));
    const auto model = std::make_shared<const Model>(Model::open(named.path));
    step(InspectRequest{.model = {.path = named.path}});
    const auto detected =
        step(DetectRequest{.model = {.path = named.path}, .labels = true, .output = {.run = run, .force = true}});
    const auto related = step(RelateRequest{.model = {.path = named.path}, .output = {.run = run, .force = true}});
    step(CaptureRequest{
        .model = {.path = named.path}, .inputs = {.texts = {named.text}}, .output = {.run = run, .force = true}});
    if (model->info().causal) {
      describe_circuit(*model, related.result, detected.result, {.texts = {named.text}, .unit = "token"});
      cut_edges(*model, detected.result.bos, named.path, run);
    }
    organize_and_softmax(run);
  }

  // Whether half of the heads can be removed, and which.
  void pruning(const fs::path& model, const fs::path& run) {
    print(
        "\nWhich half of its heads can be removed? Chosen by eight criteria and at random on 8 texts, measured on 24 "
        "others.\n");
    step(PruneRequest{.model = {.path = model},
                      .inputs = {.text_files = {model / "unseen.txt"}, .lines = true},
                      .criteria = {kPruneCriteria.begin(), kPruneCriteria.end()},
                      .points = 8,
                      .choose_on = 8,
                      .output = {.run = run, .force = true}});
  }

  void vision(const fs::path& model, const fs::path& run) {
    print("\nA vision model that reads handwritten digits, by the same commands.\n");
    step(InspectRequest{.model = {.path = model}});
    step(RelateRequest{.model = {.path = model}, .output = {.run = run, .force = true}});
    step(CaptureRequest{.model = {.path = model},
                        .inputs = {.images = sorted_files(model / "samples")},
                        .output = {.run = run, .force = true}});
    step(DetectRequest{.model = {.path = model}, .output = {.run = run, .force = true}});
    organize_and_softmax(run);
  }

  // The language model on two halves of its texts, and the vision model; written to the language model's folder.
  void comparison(const fs::path& model, const fs::path& folder) {
    constexpr std::size_t kTexts = 12;  // as many as there are images
    print("\nTwo halves of one model's texts, and words beside pictures.\n");
    const std::vector<std::string> texts = lines_of(model / "unseen.txt");
    CompareRequest request;
    for (const std::size_t half : {0U, 1U}) {
      const fs::path run = folder / (half == 0 ? "first-half" : "second-half");
      const fs::path file = run.string() + ".txt";
      std::ofstream out(file);
      for (std::size_t i = half * kTexts; i < std::min((half + 1) * kTexts, texts.size()); ++i) out << texts[i] << '\n';
      if (!out.flush()) throw Error(ErrorKind::kIo, fmt::format("{}: cannot be written", file.string()));
      step(CaptureRequest{.model = {.path = model},
                          .inputs = {.text_files = {file}, .lines = true},
                          .what = {MapKind::kPattern},
                          .with_output = false,
                          .output = {.run = run, .force = true}});
      request.runs.push_back(run);
    }
    request.runs.push_back(folder / "vision");
    request.output = {.run = folder / "language", .force = true};
    print("\n" + comparison_text(step(request)));
  }

  fs::path page(const fs::path& folder, const std::string& name) {
    const fs::path page = folder / (name + ".html");
    step(ReportRequest{.run = folder / name, .page = page});
    return fs::absolute(page);
  }

 private:
  void organize_and_softmax(const fs::path& run) {
    OrganizeRequest organize;
    organize.maps.source.file = run;
    organize.output = {.run = run, .force = true};
    step(organize);
    SoftmaxRequest softmax;
    softmax.maps.source.file = run;
    softmax.inputs = 1;  // ten times the time of organize
    softmax.output = {.run = run, .force = true};
    step(softmax);
  }

  // Texts that repeat lists, and what a token of them is.
  struct Lists {
    std::vector<std::string> texts;
    std::string_view unit;
  };

  // Which edges carry what is needed to repeat random tokens.
  void cut_edges(const Model& model, std::optional<std::uint32_t> bos, const fs::path& path, const fs::path& run) {
    constexpr std::size_t kInputs = 4;
    constexpr std::size_t kMaxHalf = 32;
    const std::size_t before = bos ? 1 : 0;
    const std::size_t half = std::min(kMaxHalf, (context_length(model).value_or(2 * kMaxHalf + 1) - before) / 2);
    print(
        fmt::format("\nDo edges matter? {} sequences of {} random tokens and their repetition; each edge is cut in the "
                    "running model, beside random ones, and the repetition is measured.\n",
                    kInputs, half));
    const std::size_t vocabulary = resolve_network(model).output.unembedding->out();
    const fs::path ids = run.parent_path() / "repeated.npy";
    write_npy<std::int64_t>(ids, repeated_tokens(vocabulary, bos, kInputs, half),
                            std::vector<std::size_t>{kInputs, before + 2 * half});
    step(PatchRequest{.model = {.path = path},
                      .inputs = {.ids = {ids}},
                      .top = 10,
                      .loss_from = before + half,
                      .output = {.run = run, .force = true}});
  }

  // What the weights say and what the heads do, put together. Every statement is computed here.
  void describe_circuit(const Model& model, const RelateResult& related, const DetectResult& detected,
                        const Lists& lists) {
    constexpr double kThreshold = 0.4;
    std::vector<InductionEdge> circuit = induction_edges(related, detected, model.info().sizes, kThreshold);
    print(circuit.empty() ? "\nNo kept edge joins a previous-token head to the keys of an induction head.\n"
                          : "\nThe circuit that repeats lists, by weights, attention and ablation together:\n");
    while (!circuit.empty()) {
      const HeadId source = circuit.front().edge.source;
      const auto from_source = [&](const InductionEdge& one) { return one.edge.source == source; };
      const auto others = std::stable_partition(circuit.begin(), circuit.end(), from_source);
      std::vector<std::string> targets;
      for (auto one = circuit.begin(); one != others; ++one) {
        targets.push_back(
            fmt::format("{} (z {:.0f}, induction {:.2f})", to_string(one->edge.target), one->edge.z, one->induction));
      }
      const Loss loss = loss_without(model, source, lists.texts);
      print(fmt::format("  {} looks at the {} before ({:.2f}); the keys of {} read what it writes.\n",
                        to_string(source), lists.unit, circuit.front().previous, fmt::join(targets, ", ")));
      print(fmt::format("       Without it the loss on lists goes from {:.2f} to {:.2f} nats per {}{}.\n", loss.before,
                        loss.after, lists.unit,
                        loss.after - loss.before < kLittle
                            ? fmt::format(": less than {}, so the model does without it", kLittle)
                            : ""));
      circuit.erase(circuit.begin(), others);
    }
  }

  const DemoRequest& request_;
  Context context_;
};

}  // namespace

void describe(DemoRequest& request, OptionList& options) {
  options
      .add("model", request.model,
           "Instead of the bundled models: smollm2, minilm, rxnfp or antiberty, which make models fetches, a folder, "
           "or a .gguf file")
      .examples({"smollm2", "minilm", "rxnfp", "antiberty"});
  options.add("folder", request.folder, "Folder for the results").spelled("-o,--output").names_folder();
  options.add("threads", request.threads, "Number of threads (default: all processors)").between(1, 1024);
}

std::optional<DemoOutcome> run(const DemoRequest& request, const Context& context) {
  const Stopwatch watch;
  if (request.threads) set_thread_count(*request.threads);
  Demo demo(request, context);
  if (!request.model.empty()) {
    const NamedModel named = find_named_model(request.model);
    demo.other(named, request.folder / named.name);
    DemoOutcome outcome;
    outcome.pages.push_back(demo.page(request.folder, named.name));
    outcome.files.seconds = watch.seconds();
    return outcome;
  }
  const fs::path models = fs::proximate(bundled_models());
  demo.language(models / "demo", request.folder / "language");
  demo.pruning(models / "demo", request.folder / "language");
  demo.vision(models / "demo-vit", request.folder / "vision");
  demo.comparison(models / "demo", request.folder);
  DemoOutcome outcome;
  for (const std::string name : {"language", "vision"}) outcome.pages.push_back(demo.page(request.folder, name));
  outcome.files.seconds = watch.seconds();
  return outcome;
}

std::string summary(const DemoOutcome& outcome) {
  std::vector<std::string> pages;
  for (const fs::path& page : outcome.pages) pages.push_back(page.string());
  return fmt::format("\nDone in {:.0f} s. Open in a browser:\n  {}\n", outcome.files.seconds, fmt::join(pages, "\n  "));
}

std::string to_json(const DemoOutcome& outcome) {
  Json pages = Json::array();
  for (const fs::path& page : outcome.pages) pages.push_back(page.string());
  return json_text({{"pages", pages}, {"seconds", outcome.files.seconds}});
}

}  // namespace headscope
