#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "headscope/io/zip.h"

namespace headscope::zip {

/// The entries of the archive that takes all of `bytes`, checked as `ZipFile::open` promises.
[[nodiscard]] std::vector<ZipEntry> read_directory(std::span<const std::byte> bytes, const std::string& where);

}  // namespace headscope::zip
