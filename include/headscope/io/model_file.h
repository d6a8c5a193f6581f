#pragma once

#include <filesystem>

namespace headscope {

/// Checks that a file of a model folder is in that folder. A link may lead to another file of the folder, or to a blob
/// of a Hugging Face cache, whose snapshots consist of such links. Any other link could make a command read, and
/// `prune` copy, what its author chose. \throws Error  kIo if the file is a link that leads elsewhere.
void check_model_file(const std::filesystem::path& file);

/// Returns whether a model folder has a file.
/// \throws Error  as `path_exists` and `check_model_file`.
[[nodiscard]] bool model_file_exists(const std::filesystem::path& file);

}  // namespace headscope
