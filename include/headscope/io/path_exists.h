#pragma once

#include <filesystem>

namespace headscope {

/// Returns whether there is a file or folder of this name, following links.
/// \throws Error  kIo if the system cannot tell, e.g. because a folder may not be searched.
[[nodiscard]] bool path_exists(const std::filesystem::path& path);

}  // namespace headscope
