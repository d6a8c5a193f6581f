#pragma once

#include <filesystem>
#include <string>

namespace headscope {

/// Returns the name of a file in the folder that an unfinished download left: *.incomplete (Hugging Face), *.part,
/// *.crdownload (browsers), *.aria2. The first in byte order; empty if there is none or the folder cannot be read.
[[nodiscard]] std::string partial_file_in(const std::filesystem::path& folder);

}  // namespace headscope
