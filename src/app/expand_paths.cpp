#include "app/expand_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <system_error>

#include "headscope/base/error.h"

namespace headscope::app {
namespace {

namespace fs = std::filesystem;

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Removes the number at the beginning of a text and returns its digits without leading zeros.
std::string_view take_number(std::string_view& text) noexcept {
  const auto end =
      std::min(text.size(), static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin()));
  std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  return digits;
}

// Whether a name matches a pattern of *, ? and other characters, which stand for themselves.
bool matches(std::string_view pattern, std::string_view name) noexcept {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;  // the last * and what it was tried to match up to
  std::size_t tried = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      tried = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++tried;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

// Files of a folder that `wanted` accepts by name, in natural order.
std::vector<fs::path> files_in(const fs::path& folder, const FileKind& kind,
                               const std::function<bool(const std::string&)>& wanted) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::string name = entry->path().filename().string();
    std::error_code ignored;  // a link to nothing is no file
    if (!name.starts_with('.') && wanted(name) && entry->is_regular_file(ignored)) names.push_back(std::move(name));
  }
  if (error) {
    throw Error(ErrorKind::kIo, fmt::format("{}: cannot list the folder for {}: {}", printable(folder.string(), 4096),
                                            kind.option, error.message()));
  }
  std::ranges::sort(names, is_naturally_before);
  std::vector<fs::path> files;
  for (const std::string& name : names) files.push_back(folder / name);
  return files;
}

bool has_extension(const std::string& name, const FileKind& kind) {
  std::string extension = fs::path(name).extension().string();
  std::ranges::transform(extension, extension.begin(), lower);
  return std::ranges::find(kind.extensions, extension) != kind.extensions.end();
}

std::vector<fs::path> expand(const fs::path& path, const FileKind& kind) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    std::vector<fs::path> files =
        files_in(path, kind, [&](const std::string& name) { return has_extension(name, kind); });
    if (!files.empty()) return files;
    throw Error(ErrorKind::kIo,
                fmt::format("{}: the folder has no {} for {}", printable(path.string(), 4096), kind.name, kind.option));
  }
  const std::string pattern = path.filename().string();
  if (fs::exists(path, ignored) || pattern.find_first_of("*?") == std::string::npos) return {path};
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::vector<fs::path> files = files_in(folder, kind, [&](const std::string& name) { return matches(pattern, name); });
  if (!files.empty()) return files;
  throw Error(ErrorKind::kIo, fmt::format("{}: matches no file for {}", printable(path.string(), 4096), kind.option));
}

}  // namespace

bool is_naturally_before(std::string_view a, std::string_view b) noexcept {
  const std::string_view whole_a = a;
  const std::string_view whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view left = take_number(a);
      const std::string_view right = take_number(b);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
      continue;
    }
    if (lower(a.front()) != lower(b.front())) return lower(a.front()) < lower(b.front());
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;  // they differ in case or in leading zeros
}

std::vector<fs::path> expand_paths(std::span<const fs::path> paths, const FileKind& kind) {
  std::vector<fs::path> all;
  for (const fs::path& path : paths) {
    for (fs::path& file : expand(path, kind)) all.push_back(std::move(file));
  }
  return all;
}

}  // namespace headscope::app
