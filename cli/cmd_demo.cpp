#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "cli/bundled_models.h"
#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/demo_story.h"
#include "cli/interrupt.h"
#include "cli/run.h"
#include "headscope/base/error.h"
#include "headscope/io/json.h"

namespace headscope::cli {
namespace {

struct Args {
  std::filesystem::path folder = "headscope-demo";
};

// A list that the language model has to repeat: long enough for the maps to show something.
constexpr const char* kList =
    "List: key tower frog heavy bell Simon kite carried cold. Again: key tower frog heavy bell Simon kite carried "
    "cold.";

// A head that costs less than so many nats is not needed.
constexpr double kSpare = 0.1;

// Runs a command as if it had been typed, and shows it.
void type(Session& session, std::vector<std::string> words) {
  constexpr std::size_t kMaxLength = 160;
  std::string line = "$ headscope";
  for (const std::string& word : words) {
    line += ' ' + (word.find(' ') == std::string::npos ? word : '"' + word + '"');
  }
  if (line.size() > kMaxLength) line = line.substr(0, kMaxLength) + " ...";
  session.out << '\n' << line << '\n' << std::flush;
  words.insert(words.begin(), "headscope");
  words.emplace_back("--quiet");
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  const int code = run(static_cast<int>(argv.size()), argv.data(), session);
  constexpr int kSignal = 128;
  if (code > kSignal) throw Interrupted{code - kSignal};
  if (code != 0) throw Error(ErrorKind::kIo, fmt::format("the demo stopped at 'headscope {}'", words[1]));
}

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  if (lines.empty()) throw Error(ErrorKind::kIo, fmt::format("{}: has no lines", path.string()));
  return lines;
}

std::vector<std::filesystem::path> sorted_files(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) files.push_back(entry.path());
  if (files.empty()) throw Error(ErrorKind::kIo, fmt::format("{}: has no files", folder.string()));
  std::ranges::sort(files);
  return files;
}

// What the weights say and what the heads do, put together. Every claim is computed here, none is stored.
void tell_circuit(Session& session, const Model& model, const std::vector<std::string>& texts) {
  constexpr double kThreshold = 0.4;
  std::vector<InductionEdge> circuit = induction_edges(relate(model).value(), detect(model), kThreshold);
  std::vector<std::string> lists;
  for (const std::string& text : texts) {
    if (text.find("gain:") != std::string::npos) lists.push_back(text);
  }
  session.out << "\nThe circuit that repeats lists, by weights, attention and ablation together:\n";
  while (!circuit.empty()) {
    const HeadId source = circuit.front().edge.source;
    const auto from_source = [&](const InductionEdge& one) { return one.edge.source == source; };
    const auto others = std::stable_partition(circuit.begin(), circuit.end(), from_source);
    std::vector<std::string> targets;
    for (auto one = circuit.begin(); one != others; ++one) {
      targets.push_back(fmt::format("{} (z {:.0f}, induction {:.2f})", to_string(one->edge.target),
                                    one->edge.nulls.front().z, one->induction));
    }
    const Loss loss = loss_without(model, source, lists);
    session.out << fmt::format("  {} looks at the word before ({:.2f}); the keys of {} read what it writes.\n",
                               to_string(source), circuit.front().previous, fmt::join(targets, ", "))
                << fmt::format("       Without it the loss on lists goes from {:.2f} to {:.2f} nats a word{}.\n",
                               loss.before, loss.after, loss.after - loss.before < kSpare ? ": it is spare" : "");
    circuit.erase(circuit.begin(), others);
  }
}

void language(Session& session, const std::filesystem::path& model, const std::filesystem::path& run) {
  session.out << "A language model of 4 layers and 32 heads that tells who was given what, and repeats lists.\n";
  const std::string name = model.string();
  const std::string out = run.string();
  type(session, {"inspect", name});
  type(session, {"detect", name, "-o", out, "--labels", "--force"});
  type(session,
       {"relate", name, "-o", out, "--metric", "pk,cs", "--labels", (model / "labels.json").string(), "--force"});
  type(session, {"capture", name, "-o", out, "--text", kList, "--text-file", (model / "samples.txt").string(),
                 "--lines", "--force"});
  tell_circuit(session, Model::open(model), lines_of(model / "samples.txt"));
  type(session, {"organize", out, "-o", out, "--force"});
  type(session, {"softmax", out, "-o", out, "--force"});
}

// Whether half of the heads can go, and which.
void tell_pruning(Session& session, const std::filesystem::path& model, const std::filesystem::path& run) {
  session.out << "\nWhich half of its heads can go? Chosen by seven criteria on 8 texts, measured on 24 others.\n";
  type(session, {"prune", model.string(), "-o", run.string(), "--text-file", (model / "unseen.txt").string(), "--lines",
                 "--choose-on", "8", "--points", "8", "--criteria", "all", "--force"});
  session.out << '\n' << told_pruning(JsonDocument::open(run / "prune.json").root());
}

// The language model on two halves of its texts, and the vision model: all in the language model's folder.
void tell_comparison(Session& session, const std::filesystem::path& model, const std::filesystem::path& folder) {
  constexpr std::size_t kTexts = 12;  // as many as there are images
  session.out << "\nTwo halves of one model's texts, and words beside pictures.\n";
  const std::vector<std::string> texts = lines_of(model / "unseen.txt");
  std::vector<std::string> words = {"compare"};
  for (const std::size_t half : {0U, 1U}) {
    const std::filesystem::path run = folder / (half == 0 ? "first-half" : "second-half");
    const std::filesystem::path file = run.string() + ".txt";
    std::ofstream out(file);
    for (std::size_t i = half * kTexts; i < std::min((half + 1) * kTexts, texts.size()); ++i) out << texts[i] << '\n';
    if (!out.flush()) throw Error(ErrorKind::kIo, fmt::format("{}: cannot be written", file.string()));
    type(session, {"capture", model.string(), "-o", run.string(), "--text-file", file.string(), "--lines", "--what",
                   "pattern", "--no-output", "--force"});
    words.push_back(run.string());
  }
  words.insert(words.end(), {(folder / "vision").string(), "-o", (folder / "language").string(), "--force"});
  type(session, words);
  session.out << '\n' << told_comparison(JsonDocument::open(folder / "language" / "compare.json").root());
}

void vision(Session& session, const std::filesystem::path& model, const std::filesystem::path& run) {
  session.out << "\nA vision model that reads handwritten digits, by the same commands.\n";
  const std::string name = model.string();
  const std::string out = run.string();
  std::vector<std::string> capture = {"capture", name, "-o", out, "--force"};
  for (const auto& entry : sorted_files(model / "samples")) capture.insert(capture.end(), {"--image", entry.string()});
  type(session, {"inspect", name});
  type(session, {"relate", name, "-o", out, "--force"});
  type(session, capture);
  type(session, {"detect", name, "-o", out, "--force"});
  type(session, {"organize", out, "-o", out, "--force"});
  type(session, {"softmax", out, "-o", out, "--force"});
}

void run_demo(const Args& args, Session& session) {
  const auto begin = std::chrono::steady_clock::now();
  const std::filesystem::path models = std::filesystem::proximate(bundled_models());
  language(session, models / "demo", args.folder / "language");
  tell_pruning(session, models / "demo", args.folder / "language");
  vision(session, models / "demo-vit", args.folder / "vision");
  tell_comparison(session, models / "demo", args.folder);
  std::vector<std::string> pages;
  for (const std::string name : {"language", "vision"}) {
    const std::filesystem::path page = args.folder / (name + ".html");
    type(session, {"report", (args.folder / name).string(), "-o", page.string()});
    pages.push_back(std::filesystem::absolute(page).string());
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  session.out << fmt::format("\nDone in {:.0f} s. Open in a browser:\n  {}\n", seconds, fmt::join(pages, "\n  "));
}

}  // namespace

void add_demo_command(Command& app, Session& session) {
  auto args = std::make_shared<Args>();  // lives as long as the callback
  Command command = app.add_command("demo", "Everything, on two small models that come with headscope");
  command.add_option("-o,--output", args->folder, "Folder for the results").with_default();
  add_threads_option(command);
  add_quiet_option(command, session);
  command.footer("Example: headscope demo");
  command.callback([args, &session] { run_demo(*args, session); });
}

}  // namespace headscope::cli
