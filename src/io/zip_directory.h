#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "headscope/io/zip.h"

namespace headscope::zip {

/// Returns the entries of the archive that occupies all of `bytes`, checked as documented for `ZipFile::open`.
[[nodiscard]] std::vector<ZipEntry> read_directory(std::span<const std::byte> bytes, const std::string& where);

}  // namespace headscope::zip
