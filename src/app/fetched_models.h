#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace headscope::app {

/// A model that `make models` fetches (tools/model_packages.py), or any other one that was named.
struct NamedModel {
  std::filesystem::path path;  ///< To be opened.
  std::string name;            ///< For people, and for folders: smollm2, or the last part of the path.
  std::string text;            ///< A text that it can read, long enough for its maps to show something.
};

/// The folder of the fetched models: $HEADSCOPE_CACHE/models, else $XDG_CACHE_HOME/headscope/models, else
/// ~/.cache/headscope/models. A variable that is empty counts as not set.
[[nodiscard]] std::filesystem::path fetched_models();

/// Finds a model by one of the names that `make models` prints. Anything else is taken as a folder, a file or a name in
/// the Hugging Face cache, and returned as it is. A file or folder of such a name wins.
/// \throws Error  kIo if it is one of those names and not in the folder: says to run make models.
[[nodiscard]] NamedModel find_named_model(std::string_view name);

}  // namespace headscope::app
