#include "app/input_folders.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <system_error>

#include "app/map_source.h"
#include "app/shared_work.h"
#include "headscope/io/folder.h"
#include "headscope/run/schema.h"

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
