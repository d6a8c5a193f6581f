#include "app/input_folders.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <system_error>

#include "app/map_source.h"
#include "app/shared_work.h"
#include "headscope/base/error.h"
#include "headscope/io/byte_reader.h"
#include "headscope/io/folder.h"
#include "headscope/io/json.h"
#include "headscope/run/map_description.h"
#include "headscope/run/schema.h"
#include "headscope/run/schema/capture.h"

namespace headscope::app {

namespace fs = std::filesystem;

InputFolders find_input_folders(const MapSelection& selection, std::size_t most, Ranks& ranks) {
  InputFolders found;
  if (selection.source.values) return found;
  const fs::path& source = selection.source.file;
  found.used.push_back(source);
  std::error_code ignored;
  std::optional<Folder> run;
  if (fs::is_directory(source, ignored)) run.emplace(Folder::open(source));
  for (std::size_t i = 1; run; ++i) {
    const fs::path folder = source / input_folder(i);
    // A link instead of a folder does not count.
    if (!run->has(fs::path(input_folder(i)) / map_file(selection.what))) break;
    if (found.used.size() < most) {
      found.used.push_back(folder);
    } else {
      ++found.left_out;
    }
  }
  check_same_everywhere(ranks, "inputs", std::to_string(found.used.size() + found.left_out));
  return found;
}

namespace {

// The description of the maps in a folder; an empty one if there is none.
MapDescription description_in(const Folder& run, const fs::path& folder) {
  const fs::path name = folder / run_files::kTokens.path;
  if (!run.has(name)) return {};
  const MappedFile file = run.map(name);
  const std::string where = file.path().string();
  const JsonDocument document = JsonDocument::parse(as_text(file.bytes()), where);
  return parse_map_description(document.root(), where);
}

// The folder of the chosen block.
MapSelection in_block(MapSelection selection) {
  const fs::path source = selection.source.file;
  const std::string block(to_string(*selection.block));
  std::error_code ignored;
  const bool has = !selection.source.values && fs::is_directory(source, ignored) &&
                   Folder::open(source).has(block_folder(block) + std::string(map_file(selection.what)));
  if (!has) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--block: {} has no maps of a block '{}'", printable(source.string(), 4096), block));
  }
  return in_folder(std::move(selection), source / block);
}

}  // namespace

MapSelection with_chosen_input(MapSelection selection) {
  if (selection.block) selection = in_block(std::move(selection));
  if (selection.input == kAllInputs) return selection;
  const fs::path source = selection.source.file;
  std::error_code ignored;
  if (selection.source.values || !fs::is_directory(source, ignored)) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--input: {} is not a folder with several inputs", printable(source.string(), 4096)));
  }
  constexpr std::size_t kMaxListed = 8;
  std::string names;
  const Folder run = Folder::open(source);
  std::size_t count = 0;
  for (; run.has(fs::path(input_folder(count)) / map_file(selection.what)); ++count) {
    const MapDescription about = description_in(run, input_folder(count));
    const bool is_it =
        about.name == selection.input || about.file == selection.input || std::to_string(count) == selection.input;
    if (is_it) return in_folder(std::move(selection), source / input_folder(count));
    if (count >= kMaxListed) continue;
    names += (count == 0 ? "" : ", ") + (about.name.empty() ? std::to_string(count) : printable(about.name, 60));
  }
  if (count > kMaxListed) names += ", ...";
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("--input: '{}' is no input of {}; it has {}", printable(selection.input, 200),
                          printable(source.string(), 4096), names.empty() ? "none" : names));
}

void describe_inputs(RunCommand& command, const MapSelection& selection, const InputFolders& folders,
                     const std::string& name) {
  if (folders.used.empty()) return;
  const fs::path inside = folders.used.front().lexically_relative(selection.source.file);
  const bool is_first = inside.empty() || inside == ".";
  command.circumstances[std::string(run_files::kMainInput)] = is_first ? "" : inside.generic_string() + "/";
  command.circumstances["main_input"] = name;
  command.circumstances["inputs_used"] = std::to_string(folders.used.size());
}

std::string input_sentence(std::string_view what, const std::string& name, std::size_t inputs,
                           std::string_view over_all) {
  if (name.empty() || name == kUnnamedArray) return {};
  if (inputs < 2) return fmt::format("{} are of one input: {}.", what, name);
  return fmt::format("{} are of {}, the first of {} inputs; {} are over all of them.", what, name, inputs, over_all);
}

MapSelection in_folder(MapSelection selection, const fs::path& folder) {
  selection.source.file = folder;
  return selection;
}

std::string fingerprint_of_others(const InputFolders& folders, MapKind what) {
  std::string others;
  for (std::size_t i = 1; i < folders.used.size(); ++i) {
    others += (i == 1 ? "" : ",") + fingerprint(ArrayInput{.file = folders.used[i] / map_file(what)});
  }
  return others;
}

std::string left_out_text(const InputFolders& folders) {
  return fmt::format("{} more inputs; --inputs {} includes them", folders.left_out,
                     folders.used.size() + folders.left_out);
}

}  // namespace headscope::app
