#include "app/run_consistency.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <string_view>

#include "app/map_array.h"
#include "app/map_source.h"
#include "headscope/base/error.h"
#include "headscope/run/schema.h"

namespace headscope::app {
namespace {

// The commands that were run on each model; nothing if that is one.
void add_models(const RunContents& run, std::vector<std::string>& sentences) {
  std::map<std::string, std::vector<std::string>> by_model;
  for (const auto [name, command] : run.manifest().find("commands").members()) {
    const auto model = command.find("identity").find("model").as_string();
    if (model) by_model[std::string(*model)].push_back(printable(name));
  }
  if (by_model.size() < 2) return;
  std::vector<std::string> groups;
  for (const auto& [model, commands] : by_model) groups.push_back(fmt::format("{}", fmt::join(commands, ", ")));
  sentences.push_back(fmt::format("These results are of {} different models: {}. The page shows them as one.",
                                  by_model.size(), fmt::join(groups, "; ")));
}

// The file of maps that a command read, if the folder has one; else empty.
std::string maps_of(const RunContents& run, std::string_view command, MapKind what) {
  const JsonValue circumstances = run.manifest().find("commands").find(command).find("circumstances");
  const std::string file = block_folder(run.identity(command, "block").value_or("")) +
                           std::string(circumstances.find(run_files::kMainInput).as_string().value_or("")) +
                           std::string(map_file(what));
  return run.has(file) ? file : "";
}

void add_stale(const RunContents& run, std::string_view command, MapKind what, const Context& context,
               std::vector<std::string>& sentences) {
  const auto source = run.identity(command, "source");
  const std::string file = source ? maps_of(run, command, what) : "";
  if (file.empty()) return;
  const MapArray maps = open_npy_array(run.map(file), context);
  if (fingerprint_of(maps.values) == *source) return;
  sentences.push_back(fmt::format("What '{}' found is of other maps than {}; run it again.", command, file));
}

}  // namespace

std::vector<std::string> inconsistencies(const RunContents& run, const Context& context) {
  std::vector<std::string> sentences;
  add_models(run, sentences);
  const bool of_scores = run.identity("organize", "what").value_or("") == "scores";
  add_stale(run, "organize", of_scores ? MapKind::kScores : MapKind::kPattern, context, sentences);
  add_stale(run, "softmax", MapKind::kScores, context, sentences);
  return sentences;
}

}  // namespace headscope::app
