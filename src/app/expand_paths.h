#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace headscope::app {

/// Files that an option takes.
struct FileKind {
  std::string_view option;                       ///< For messages, e.g. "--image".
  std::string_view name;                         ///< "PNG or JPEG file"
  std::span<const std::string_view> extensions;  ///< In lower case, with the dot.
};

/// Replaces folders by their files of the given kind, and names with * or ? after the last slash by the files that they
/// match, both in natural order (page2 before page10). Everything else stays as it is, in its place. Extensions are
/// compared without regard to case; hidden files and subfolders are left out.
/// \throws Error  kIo if a folder has no such file or a pattern matches nothing, or if a folder cannot be read.
[[nodiscard]] std::vector<std::filesystem::path> expand_paths(std::span<const std::filesystem::path> paths,
                                                              const FileKind& kind);

/// Whether `a` comes before `b` if sequences of digits are compared as numbers and letters without regard to case.
[[nodiscard]] bool is_naturally_before(std::string_view a, std::string_view b) noexcept;

}  // namespace headscope::app
