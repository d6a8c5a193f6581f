#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/app/map_selection.h"
#include "headscope/base/ranks.h"
#include "headscope/run/run_folder.h"

namespace headscope::app {

/// The inputs of a source of maps.
struct InputFolders {
  std::vector<std::filesystem::path> used;  ///< The source itself first. Empty for an array in memory.
  std::size_t left_out = 0;                 ///< How many more the source has.
};

/// Lists the folders of the inputs that `capture` wrote, up to `most`. A file, an array in memory and the folder of a
/// single input have one. Collective. \throws Error  kBackend if ranks see different numbers of inputs.
[[nodiscard]] InputFolders find_input_folders(const MapSelection& selection, std::size_t most, Ranks& ranks);

/// Returns the selection with the folder of the input that `MapSelection::input` names as its source; unchanged if that
/// is "all". \throws Error  kInvalidArgument if there is no such input; kIo, kFormat if a tokens.json cannot be read.
[[nodiscard]] MapSelection with_chosen_input(MapSelection selection);

/// Records which inputs a command used, and in which folder of the source the first one is (`kMainInput`).
void describe_inputs(RunCommand& command, const MapSelection& selection, const InputFolders& folders,
                     const std::string& name);

/// "Trees are of cat.png, the first of 3 inputs." Empty if the input has no name.
[[nodiscard]] std::string input_sentence(std::string_view what, const std::string& name, std::size_t inputs,
                                         std::string_view over_all);

/// Returns a selection of the same heads and positions in the maps of another folder.
[[nodiscard]] MapSelection in_folder(MapSelection selection, const std::filesystem::path& folder);

/// The fingerprints of the maps of all inputs but the first, for the identity of a command; empty if there are none.
/// \throws Error  as reading the arrays.
[[nodiscard]] std::string fingerprint_of_others(const InputFolders& folders, MapKind what);

/// "3 more inputs; --inputs 11 includes them"
[[nodiscard]] std::string left_out_text(const InputFolders& folders);

}  // namespace headscope::app
