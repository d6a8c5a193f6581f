#include "headscope/app/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "app/compare_source.h"
#include "app/run_output.h"
#include "headscope/base/error.h"
#include "headscope/base/hash.h"

namespace headscope {
namespace {

using namespace app;
namespace fs = std::filesystem;

// Tables distinguish runs by their names.
void check_names(const CompareRequest& request) {
  if (request.names.empty()) return;
  if (request.names.size() != request.runs.size()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--names: {} names for {} RUNs", request.names.size(), request.runs.size()));
  }
  for (const std::string& name : request.names) {
    if (std::ranges::count(request.names, name) == 1) continue;
    throw Error(ErrorKind::kInvalidArgument, fmt::format("--names: duplicate name '{}'", printable(name, 60)));
  }
}

// Returns the names of the folders; if two are equal, the paths; if a run is given twice, with a number.
std::vector<std::string> run_names(const CompareRequest& request) {
  if (!request.names.empty()) return request.names;
  std::vector<std::string> names;
  for (const fs::path& path : request.runs) {
    const fs::path plain = path.lexically_normal();
    names.push_back((plain.has_filename() ? plain : plain.parent_path()).filename().string());
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::ranges::count(names, names[i]) == 1) continue;
    for (std::size_t j = 0; j < names.size(); ++j) names[j] = request.runs[j].string();
    break;
  }
  for (std::size_t i = names.size(); i-- > 1;) {
    const auto before = std::count(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]);
    if (before > 0) names[i] += fmt::format(" ({})", before + 1);
  }
  return names;
}

// Shortens long texts to 16 digits.
std::string hashed(std::string_view text) {
  Hash hash;
  hash.add(std::as_bytes(std::span(text)));
  return hash.digits();
}

// Returns the path of a run and what its manifest says about its origin, which changes if the run is repeated.
std::string identity_of(const OpenedRun& run) {
  if (!run.contents) return run.path.string();
  std::string text;
  for (const char* command : {"capture", "relate"}) {
    for (const auto [key, value] : run.contents->manifest().find("commands").find(command).find("identity").members()) {
      text += fmt::format("; {} {}={}", command, key, value.as_string().value_or(""));
    }
  }
  return fmt::format("{} {}", run.path.string(), hashed(text));
}

RunCommand describe_run(const CompareRequest& request, const std::vector<OpenedRun>& runs) {
  RunCommand command = describe_command(request);
  std::string& identities = command.identity["runs"];
  for (const OpenedRun& run : runs) identities += (identities.empty() ? "" : ", ") + identity_of(run);
  describe_resources(command, request.resources);
  return command;
}

}  // namespace

void describe(CompareRequest& request, OptionList& options) {
  options.add("runs", request.runs, "Two or more folders that 'capture' (or 'relate') wrote")
      .positional()
      .required()
      .repeated()
      .circumstantial();
  options.add("names", request.names, "Names for them, e.g. before,after");
  describe_what(request.what, options);
  options.add("skip-first", request.skip_first, "Number of first tokens to leave out: attention sinks");
  options.add("inputs", request.max_inputs, "Maximum number of inputs of a RUN").between(1, 1000000);
  options.add("iterations", request.iterations, "Iterations of the questionnaire").between(1, kMaxIterations);
  options.add("draws", request.draws, "Shuffled trees that sparsity is compared with").between(2, 1000);
  options.add("seed", request.seed, "Seed of the shuffled trees");
  describe(request.output, options);
  describe(request.resources, options);
}

std::optional<CompareOutcome> run(const CompareRequest& request, const Context& caller) {
  const Stopwatch watch;
  const Context context = make_context(request.resources, caller).on_one_rank().with_stage("organizing");
  if (request.runs.size() < 2) {
    throw Error(ErrorKind::kInvalidArgument, "compare: one RUN alone; give two or more");
  }
  check_names(request);
  const std::vector<OpenedRun> runs = open_runs(request);
  RunOutput output(request.output, describe_run(request, runs), watch);
  const std::vector<std::string> names = run_names(request);
  const auto fraction = [&](std::size_t done) { return static_cast<double>(done) / static_cast<double>(runs.size()); };
  CompareOutcome outcome;
  std::vector<ComparedRun> compared;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    outcome.sources.push_back(load_network(runs[i], request, context.part(fraction(i), fraction(i + 1))));
    outcome.sources.back().run.name = names[i];
    compared.push_back(outcome.sources.back().run);
  }
  outcome.comparison = compare(compared);
  write(outcome, output.folder());
  outcome.files = output.finish(context);
  return outcome;
}

}  // namespace headscope
