#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/host.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/run_output.h"
#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "headscope/base/system.h"
#include "headscope/capture/detectors.h"
#include "headscope/io/atomic_file.h"
#include "headscope/io/csv.h"
#include "headscope/io/run_folder.h"
#include "headscope/model/fingerprint.h"

namespace headscope::cli {
namespace {

struct Args {
  ModelWords model;
  std::filesystem::path run;
  DetectOptions detect;
  double threshold = 0.4;
  bool labels = false;
  std::string memory = "2G";
  bool json = false;
  bool force = false;
};

RunCommand describe(const Args& args, const Model& model) {
  RunCommand command;
  command.name = "detect";
  command.identity = {{"sequences", std::to_string(args.detect.sequences)},
                      {"length", std::to_string(args.detect.length)},
                      {"seed", std::to_string(args.detect.seed)},
                      {"bos", args.detect.without_bos ? "none" : "as the model says"},
                      {"threshold", fmt::format("{}", args.threshold)},
                      {"labels", args.labels ? "true" : "false"},
                      {"version", HEADSCOPE_VERSION}};
  command.circumstances = {{"threads", std::to_string(thread_count())}, {"memory", args.memory}};
  describe_model(command, model, fingerprint(model.checkpoint()));
  return command;
}

// Names of the detectors a head passes.
std::string passed(const HeadScores& head, double threshold) {
  std::string names;
  for (std::size_t d = 0; d < kDetectors.size(); ++d) {
    if (head.scores[d].value_or(-1) < threshold) continue;
    names += (names.empty() ? "" : " ") + std::string(to_string(kDetectors[d]));
  }
  return names;
}

std::string table_of(const DetectResult& result, double threshold, RunFile& file) {
  std::vector<std::string> header = {"head", "layer", "index"};
  for (const Detector detector : kDetectors) header.emplace_back(to_string(detector));
  header.insert(header.end(), {"threshold", "detected"});
  CsvTable table(header);
  for (const HeadScores& head : result.heads) {
    std::vector<std::string> row = {to_string(head.head), std::to_string(head.head.layer),
                                    std::to_string(head.head.head)};
    for (const auto& score : head.scores) row.push_back(score ? csv_number(*score) : "");
    row.push_back(csv_number(threshold));
    row.push_back(passed(head, threshold));
    table.add_row(row);
  }
  file.shape = {table.rows(), table.columns()};
  return table.text();
}

// The heads a detector sees best, those over the threshold and always the best one.
void print_summary(Session& session, const DetectResult& result, double threshold) {
  session.out << fmt::format("{} random sequences of {} tokens{}, threshold {}\n", result.sequences, result.length,
                             result.bos ? fmt::format(" after token {}", *result.bos) : "", threshold);
  constexpr std::size_t kMaxShown = 8;
  for (std::size_t d = 0; d < kDetectors.size(); ++d) {
    if (!result.heads.front().scores[d]) continue;
    std::vector<HeadScores> heads = result.heads;
    std::ranges::stable_sort(heads, std::greater{}, [&](const HeadScores& head) { return *head.scores[d]; });
    std::string found;
    std::size_t over = 0;
    for (const HeadScores& head : heads) {
      if (*head.scores[d] < threshold) break;
      if (over++ < kMaxShown) {
        found += fmt::format("{}{} {:.2f}", found.empty() ? "" : ", ", to_string(head.head), *head.scores[d]);
      }
    }
    if (over > kMaxShown) found += fmt::format(", and {} more", over - kMaxShown);
    if (over == 0) {
      found = fmt::format("none; the best is {} with {:.2f}", to_string(heads.front().head), *heads.front().scores[d]);
    }
    session.out << fmt::format("  {:<10} {}\n", to_string(kDetectors[d]), found);
  }
}

nlohmann::ordered_json as_json(const DetectResult& result, const Args& args) {
  nlohmann::ordered_json root = {{"sequences", result.sequences},
                                 {"length", result.length},
                                 {"seed", args.detect.seed},
                                 {"threshold", args.threshold}};
  root["bos"] = result.bos ? nlohmann::ordered_json(*result.bos) : nlohmann::ordered_json();
  for (const HeadScores& head : result.heads) {
    nlohmann::ordered_json entry = {{"head", to_string(head.head)}};
    for (std::size_t d = 0; d < kDetectors.size(); ++d) {
      if (head.scores[d]) entry[std::string(to_string(kDetectors[d]))] = *head.scores[d];
    }
    root["heads"].push_back(std::move(entry));
  }
  return root;
}

void run_detect(Args& args, Session& session) {
  const auto begin = std::chrono::steady_clock::now();
  const auto opened = open_model(session, args.model);
  const Model& model = *opened;
  watch_for_interrupts();
  const std::size_t memory = parse_size(args.memory);
  RunFolder run = begin_run(session, args.run, describe(args, model), args.force);
  constexpr std::size_t kSteps = 1000;
  DetectResult result;
  {
    Progress progress(session, "running random sequences", kSteps);
    result = detect(model, args.detect, progress.context(memory));
  }
  RunFile file{.name = "detectors.csv",
               .kind = "table",
               .about =
                   "How much every head looks at the previous token, at itself, at an earlier copy of the token and "
                   "at what followed it."};
  const std::string table = table_of(result, args.threshold, file);
  run.add_text(file, table);
  if (args.labels) {
    run.add_text(
        {.name = "labels.json", .kind = "labels", .about = "The detected heads as a label file for relate --labels."},
        labels_from(result, args.threshold, "detected"));
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  run.circumstances()["seconds"] = fmt::format("{:.2f}", seconds);
  run.circumstances()["peak_memory"] = std::to_string(peak_memory());
  check_for_interrupt();
  run.commit();
  if (args.json) {
    session.out << as_json(result, args).dump(2) << '\n';
    return;
  }
  print_summary(session, result, args.threshold);
  session.out << fmt::format("\ndetectors.csv{} in {} ({:.1f} s)\n", args.labels ? " and labels.json" : "",
                             printable(run.path().string(), 4096), seconds);
}

}  // namespace

void add_detect_command(Command& app, Session& session) {
  auto args = std::make_shared<Args>();  // lives as long as the callback
  Command command = app.add_command("detect", "Which heads look back, copy, repeat: from attention on random tokens");
  add_model_options(command, args->model);
  command.add_option("-o,--output", args->run, "Folder for the results").required();
  command.add_option("--sequences", args->detect.sequences, "Random sequences to average over")
      .between(std::size_t{1}, std::size_t{100000})
      .with_default();
  command.add_option("--length", args->detect.length, "Tokens of a sequence, the second half repeating the first")
      .with_default();
  command.add_flag("--no-bos", args->detect.without_bos, "Do not begin with the model's BOS token");
  command.add_option("--threshold", args->threshold, "Score from which a head counts as detected")
      .between(0.0, 1.0)
      .with_default();
  command.add_flag("--labels", args->labels, "Also write labels.json, which relate --labels takes");
  command.add_option("--seed", args->detect.seed, "Seed of the sequences").with_default();
  command.add_option("--memory", args->memory, "Budget, e.g. 8G").with_default();
  command.add_flag("--json", args->json, "Print the scores as JSON");
  command.add_flag("--force", args->force, "Replace the result of another run in the folder");
  add_threads_option(command);
  add_quiet_option(command, session);
  command.footer("Example: headscope detect models/gpt2 -o runs/gpt2 --labels");
  command.callback([args, &session] { run_detect(*args, session); });
}

}  // namespace headscope::cli
