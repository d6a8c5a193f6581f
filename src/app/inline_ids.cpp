#include "app/inline_ids.h"

#include <charconv>
#include <system_error>

namespace headscope::app {
namespace {

void skip_blanks(std::string_view& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  text.remove_prefix(begin == std::string_view::npos ? text.size() : begin);
}

bool take(std::string_view& text, char c) {
  skip_blanks(text);
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// Numbers with commas between them; where `blanks` is set, blanks do as well.
std::optional<std::vector<std::uint32_t>> parse_list(std::string_view text, bool blanks, bool& bracketed) {
  std::vector<std::uint32_t> ids;
  bracketed = take(text, '[');
  while (true) {
    skip_blanks(text);
    std::uint32_t id = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    ids.push_back(id);
    const bool apart = !text.empty() && (text.front() == ' ' || text.front() == '\t' || text.front() == '\n');
    if (take(text, ',')) continue;
    if (bracketed && take(text, ']')) break;
    skip_blanks(text);
    if (text.empty()) return bracketed ? std::nullopt : std::optional(ids);
    if (!blanks || !apart) return std::nullopt;
  }
  skip_blanks(text);
  if (!text.empty()) return std::nullopt;
  return ids;
}

}  // namespace

std::optional<std::vector<std::uint32_t>> parse_ids(std::string_view text) {
  bool bracketed = false;
  return parse_list(text, /*blanks=*/false, bracketed);
}

bool looks_like_ids(std::string_view text) {
  constexpr std::size_t kFewest = 3;
  bool bracketed = false;
  const auto ids = parse_list(text, /*blanks=*/true, bracketed);
  return ids && (bracketed || ids->size() >= kFewest);
}

}  // namespace headscope::app
