#include "io/unfinished_download.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>

namespace headscope {

std::string partial_file_in(const std::filesystem::path& folder) {
  constexpr std::array<std::string_view, 4> kExtensions = {".incomplete", ".part", ".crdownload", ".aria2"};
  std::string first;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::filesystem::path name = it->path().filename();
    if (std::ranges::find(kExtensions, name.extension().string()) == kExtensions.end()) continue;
    if (first.empty() || name.string() < first) first = name.string();
  }
  return first;
}

}  // namespace headscope
