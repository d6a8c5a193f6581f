#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/compare_files.h"
#include "cli/compare_source.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/run_output.h"
#include "headscope/apply/compare.h"
#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "headscope/base/system.h"
#include "headscope/io/json.h"

namespace headscope::cli {
namespace {

namespace fs = std::filesystem;

struct Args {
  std::vector<fs::path> runs;
  std::vector<std::string> names;
  fs::path run;
  CompareSourceOptions source;
  std::size_t iterations = 3;
  std::string memory = "2G";
  bool json = false;
  bool force = false;
};

// All with maps, or all with relate's results alone.
std::vector<RunContents> look_into_all(const Args& args) {
  std::vector<RunContents> all;
  for (const fs::path& path : args.runs) {
    all.push_back(look_into(path, args.source.what));
    if (!all.back().maps && !all.back().weights) {
      throw Error(ErrorKind::kFormat,
                  fmt::format("{}: holds neither {}.npy nor informativeness.csv; 'headscope capture' and 'headscope "
                              "relate' write them",
                              path.string(), args.source.what));
    }
  }
  const bool some_maps = std::ranges::any_of(all, &RunContents::maps);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].maps == some_maps) continue;
    const auto with = static_cast<std::size_t>(std::ranges::find(all, true, &RunContents::maps) - all.begin());
    throw Error(ErrorKind::kFormat,
                fmt::format("RUNs of different kinds: {} has no {}.npy, {} has one; run 'headscope capture' for both",
                            args.runs[i].string(), args.source.what, args.runs[with].string()));
  }
  return all;
}

// A table tells runs by their names.
void check_names(const Args& args) {
  if (args.names.empty()) return;
  if (args.names.size() != args.runs.size()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--names: {} names for {} RUNs", args.names.size(), args.runs.size()));
  }
  for (const std::string& name : args.names) {
    if (std::ranges::count(args.names, name) == 1) continue;
    throw Error(ErrorKind::kInvalidArgument, fmt::format("--names: '{}' stands twice", printable(name, 60)));
  }
}

// The folders' names; where two are the same, whole paths; where one RUN is given twice, numbered.
std::vector<std::string> run_names(const Args& args) {
  if (!args.names.empty()) return args.names;
  std::vector<std::string> names;
  for (const fs::path& path : args.runs) {
    const fs::path plain = path.lexically_normal();
    names.push_back((plain.has_filename() ? plain : plain.parent_path()).filename().string());
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::ranges::count(names, names[i]) == 1) continue;
    for (std::size_t j = 0; j < names.size(); ++j) names[j] = args.runs[j].string();
    break;
  }
  for (std::size_t i = names.size(); i-- > 1;) {
    const auto before = std::count(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]);
    if (before > 0) names[i] += fmt::format(" ({})", before + 1);
  }
  return names;
}

// FNV-1a: pages of settings in 16 digits.
std::string hashed(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

// What the RUN was made of, as its manifest says: it changes when the RUN is made anew.
std::string identity_of(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path / "manifest.json", ignored)) return path.string();
  const JsonDocument manifest = JsonDocument::open(path / "manifest.json");
  std::string text;
  for (const char* command : {"capture", "relate"}) {
    for (const auto [key, value] : manifest.root().find("commands").find(command).find("identity").members()) {
      text += fmt::format("; {} {}={}", command, key, value.as_string().value_or(""));
    }
  }
  return fmt::format("{} {}", path.string(), hashed(text));
}

RunCommand describe(const Args& args) {
  RunCommand command;
  command.name = "compare";
  std::string runs;
  for (const fs::path& path : args.runs) runs += (runs.empty() ? "" : ", ") + identity_of(path);
  command.identity = {{"runs", runs},
                      {"what", args.source.what},
                      {"skip_first", std::to_string(args.source.skip_first)},
                      {"inputs", std::to_string(args.source.max_inputs)},
                      {"iterations", std::to_string(args.iterations)},
                      {"draws", std::to_string(args.source.signature.draws)},
                      {"seed", std::to_string(args.source.signature.seed)},
                      {"version", HEADSCOPE_VERSION}};
  command.circumstances = {{"threads", std::to_string(thread_count())}, {"memory", args.memory}};
  return command;
}

std::vector<ComparedSource> load_all(const Args& args, const std::vector<RunContents>& contents, Session& session) {
  CompareSourceOptions options = args.source;
  options.signature.questionnaire.iterations = args.iterations;
  const std::vector<std::string> names = run_names(args);
  constexpr std::size_t kSteps = 1000;
  Progress progress(session, "organizing", kSteps);
  const Context context = progress.context(parse_size(args.memory));
  std::vector<ComparedSource> sources;
  for (std::size_t i = 0; i < args.runs.size(); ++i) {
    const auto share = [&](std::size_t done) {
      return static_cast<double>(done) / static_cast<double>(args.runs.size());
    };
    sources.push_back(load_compared(args.runs[i], contents[i], options, session, context.part(share(i), share(i + 1))));
    sources.back().run.name = names[i];
  }
  return sources;
}

void run_compare(const Args& args, Session& session) {
  const auto begin = std::chrono::steady_clock::now();
  if (args.runs.size() < 2) {
    throw Error(ErrorKind::kInvalidArgument, "compare: one RUN alone; give two or more");
  }
  check_names(args);
  const std::vector<RunContents> contents = look_into_all(args);
  watch_for_interrupts();
  RunFolder run = begin_run(session, args.run, describe(args), args.force);
  const std::vector<ComparedSource> sources = load_all(args, contents, session);
  std::vector<ComparedRun> runs;
  for (const ComparedSource& source : sources) runs.push_back(source.run);
  const Comparison comparison = compare(runs);
  add_compare_files(run, sources, comparison);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  run.circumstances()["seconds"] = fmt::format("{:.2f}", seconds);
  run.circumstances()["peak_memory"] = std::to_string(peak_memory());
  check_for_interrupt();
  const std::vector<std::string> files = run.files();
  run.commit();
  if (args.json) return print_compare_json(session.out, sources, comparison, files, seconds);
  print_compare_summary(session.out, sources, comparison);
  session.out << fmt::format("\n{} files in {} ({:.1f} s)\n", files.size(), printable(run.path().string(), 4096),
                             seconds);
}

}  // namespace

void add_compare_command(Command& app, Session& session) {
  auto args = std::make_shared<Args>();  // lives as long as the callback
  Command command = app.add_command("compare", "Which differences between networks exceed the spread over inputs");
  command.add_option("runs", args->runs, "Two or more folders that 'capture' (or 'relate') wrote").required();
  command.add_option("-o,--output", args->run, "Folder for the results").required();
  command.add_option("--names", args->names, "What to call them, e.g. before,after").list();
  command.add_option("--what", args->source.what, "pattern (after the softmax) or scores (before)")
      .one_of({"pattern", "scores"})
      .with_default();
  command.add_option("--skip-first", args->source.skip_first, "Leave out so many first tokens: attention sinks")
      .with_default();
  command.add_option("--inputs", args->source.max_inputs, "Inputs of a RUN, at most")
      .between(std::size_t{1}, std::size_t{1000000})
      .with_default();
  command.add_option("--iterations", args->iterations, "Of the questionnaire")
      .between(std::size_t{1}, std::size_t{1000})
      .with_default();
  command.add_option("--draws", args->source.signature.draws, "Shuffled trees to compare sparsity with")
      .between(std::size_t{2}, std::size_t{1000})
      .with_default();
  command.add_option("--seed", args->source.signature.seed, "Seed of the shuffled trees").with_default();
  command.add_option("--memory", args->memory, "Budget, e.g. 8G").with_default();
  command.add_flag("--force", args->force, "Replace the result of another run in the folder");
  command.add_flag("--json", args->json, "Print the summary as JSON");
  add_threads_option(command);
  add_quiet_option(command, session);
  command.footer("Example: headscope compare runs/gpt2 runs/vit -o runs/compared");
  command.callback([args, &session] { run_compare(*args, session); });
}

}  // namespace headscope::cli
