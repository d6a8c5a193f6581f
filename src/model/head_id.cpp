#include "headscope/model/head_id.h"

#include <algorithm>
#include <charconv>

namespace headscope {
namespace {

// Removes decimal digits from the front of `text`; returns nothing if there are none or too many.
std::optional<std::size_t> take_number(std::string_view& text) noexcept {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// Removes `upper`, an ASCII capital letter, or its lowercase form from the front of `text`.
bool take_letter(std::string_view& text, char upper) noexcept {
  if (text.empty() || (text.front() != upper && text.front() != upper - 'A' + 'a')) return false;
  text.remove_prefix(1);
  return true;
}

// Removes the separator between the two numbers, which tells the kind of head.
std::optional<bool> take_is_key_value(std::string_view& text, bool spelled_out) noexcept {
  if (!spelled_out) {
    if (text.empty() || (text.front() != '.' && text.front() != ',')) return std::nullopt;
    text.remove_prefix(1);
    return false;
  }
  if (take_letter(text, 'H')) return false;
  if (take_letter(text, 'K') && take_letter(text, 'V')) return true;
  return std::nullopt;
}

}  // namespace

std::string to_string(HeadId id) {
  const std::string block(to_string(id.block));
  return block + (block.empty() ? "" : ".") + "L" + std::to_string(id.layer) + (id.key_value ? "KV" : "H") +
         std::to_string(id.head);
}

std::optional<HeadId> parse_head(std::string_view text) noexcept {
  Block block = Block::kOnly;
  if (const auto named = parse_block(text.substr(0, text.find('.')))) {
    block = *named;
    text.remove_prefix(std::min(text.size(), to_string(block).size() + 1));
  }
  const bool spelled_out = take_letter(text, 'L');
  const auto layer = take_number(text);
  if (!layer) return std::nullopt;
  const auto key_value = take_is_key_value(text, spelled_out);
  if (!key_value) return std::nullopt;
  const auto head = take_number(text);
  if (!head || !text.empty()) return std::nullopt;
  return HeadId{*layer, *head, *key_value, block};
}

}  // namespace headscope
