#include "report/token_blocks.h"

#include <algorithm>

namespace headscope::report {
namespace {

// Calls `begin` with the first element of every block.
template <typename Function>
void for_each_block(std::span<const std::size_t> groups, std::size_t side, Function begin) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i > 0 && groups[i] == groups[i - 1] && length < side) {
      ++length;
      continue;
    }
    begin(i);
    length = 1;
  }
}

}  // namespace

std::vector<std::size_t> token_groups(const Json& tokens, const char* name) {
  const Json& list = tokens[name];
  const bool is_image = tokens.value("kind", Json()) == "image";
  const bool has_places = std::ranges::any_of(list, [](const Json& token) { return token.contains("begin"); });
  std::vector<std::size_t> groups;
  groups.reserve(list.size());
  const std::size_t shared = list.size();  // beyond the numbers of single tokens
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (is_image) {
      const auto row = list[i].find("row");
      const bool is_patch = row != list[i].end() && row->is_number_unsigned();
      groups.push_back(is_patch ? shared + row->get<std::size_t>() : i);
    } else {
      const bool is_special = i == 0 || (has_places && !list[i].contains("begin"));
      groups.push_back(is_special ? i : shared);
    }
  }
  return groups;
}

std::vector<std::size_t> block_starts(std::span<const std::size_t> groups, std::size_t side) {
  std::vector<std::size_t> starts;
  for_each_block(groups, side, [&](std::size_t i) { starts.push_back(i); });
  return starts;
}

std::size_t block_count(std::span<const std::size_t> groups, std::size_t side) noexcept {
  std::size_t count = 0;
  for_each_block(groups, side, [&](std::size_t) { ++count; });
  return count;
}

}  // namespace headscope::report
