#include "io/git_lfs.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include "headscope/base/error.h"
#include "headscope/io/byte_reader.h"

namespace headscope {
namespace {

// Returns " of 548 MB" for the pointer's line "size 548105171"; empty if there is none.
std::string size_it_stands_for(std::string_view pointer) {
  constexpr std::string_view kKey = "\nsize ";
  const std::size_t found = pointer.find(kKey);
  if (found == std::string_view::npos) return {};
  const std::string_view digits = pointer.substr(found + kKey.size());
  std::uint64_t bytes = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), bytes).ec != std::errc()) return {};
  constexpr std::uint64_t kMega = 1'000'000;
  return bytes < kMega ? fmt::format(" of {} bytes", bytes) : fmt::format(" of {} MB", (bytes + kMega / 2) / kMega);
}

}  // namespace

void reject_git_lfs_pointer(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  // The specification limits pointers to less than this.
  constexpr std::size_t kMaxPointer = 1024;
  const std::string_view text = as_text(bytes);
  if (text.size() >= kMaxPointer || !text.starts_with("version https://git-lfs.github.com/spec/")) return;
  throw Error(ErrorKind::kIo, fmt::format("{}: is a git-lfs pointer to a file{} that was not fetched; "
                                          "run in its folder: git lfs pull",
                                          path.string(), size_it_stands_for(text)));
}

}  // namespace headscope
