#include "tokenize/charsmap.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "headscope/base/error.h"

namespace headscope {
namespace {

[[noreturn]] void fail(std::string_view where, std::string_view what) {
  throw Error(ErrorKind::kFormat, fmt::format("{}: precompiled_charsmap {}", where, what));
}

// Fields of a unit of the double array.
constexpr bool has_leaf(std::uint32_t unit) {
  return (unit >> 8 & 1) != 0;
}
constexpr std::uint32_t leaf_value(std::uint32_t unit) {
  return unit & 0x7FFFFFFF;
}
constexpr std::uint32_t label(std::uint32_t unit) {
  return unit & 0x800000FF;
}
constexpr std::uint32_t offset(std::uint32_t unit) {
  return (unit >> 10) << ((unit & 0x200) >> 6);
}

// Finds the ends of the graphemes of a text, in order.
class Graphemes {
 public:
  explicit Graphemes(std::string_view text) : text_(text) {}

  // Returns the end of the grapheme that starts at `begin`, which must be the end of the previous one.
  std::size_t end(std::size_t begin) {
    DecodedChar c = decode_at(text_, begin);
    std::size_t at = begin + c.size;
    while (at < text_.size()) {
      const DecodedChar next = decode_at(text_, at);
      if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(c.value),
                                           static_cast<utf8proc_int32_t>(next.value), &state_)) {
        break;
      }
      c = next;
      at += c.size;
    }
    return at;
  }

 private:
  std::string_view text_;
  utf8proc_int32_t state_ = 0;
};

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return !is_continuation(c); }));
}

// Holds one character back, because the removal of the characters after it is recorded with it.
class ChangeWriter {
 public:
  explicit ChangeWriter(PieceWriter& out) : out_(out) {}

  void add(char32_t c, std::ptrdiff_t change) {
    flush();
    last_ = {c, change};
    any_ = true;
  }

  void replace(std::string_view old, std::string_view text) {
    const auto before = static_cast<std::ptrdiff_t>(count_characters(old));
    const auto after = static_cast<std::ptrdiff_t>(count_characters(text));
    std::ptrdiff_t index = 0;
    for (std::size_t i = 0; i < text.size(); ++index) {
      const DecodedChar c = decode_at(text, i);
      // If there are more characters than before, the last ones count as added.
      add(c.value, index >= before ? 1 : 0);
      i += c.size;
    }
    if (after < before && any_) last_.change += after - before;
  }

  void flush() {
    if (any_) out_.put_changed(last_.value, last_.change);
  }

 private:
  struct Change {
    char32_t value = 0;
    std::ptrdiff_t change = 0;
  };
  PieceWriter& out_;
  Change last_;
  bool any_ = false;
};

}  // namespace

Charsmap Charsmap::parse(std::string_view bytes, std::string_view where) {
  std::uint32_t size = 0;
  if (bytes.size() < sizeof size) fail(where, fmt::format("has {} bytes, expected at least 4", bytes.size()));
  std::memcpy(&size, bytes.data(), sizeof size);
  bytes.remove_prefix(sizeof size);
  if (size % 4 != 0 || size == 0 || size > bytes.size()) {
    fail(where, fmt::format("declares a trie of {} bytes, but {} bytes follow", size, bytes.size()));
  }
  Charsmap map;
  map.units_.resize(size / 4);
  std::memcpy(map.units_.data(), bytes.data(), size);
  map.texts_ = bytes.substr(size);
  if (valid_utf8_prefix(map.texts_) != map.texts_.size()) fail(where, "holds replacements that are not UTF-8");
  return map;
}

std::optional<std::string_view> Charsmap::text_at(std::uint32_t place) const noexcept {
  if (place > texts_.size()) return std::nullopt;
  if (place < texts_.size() && is_continuation(texts_[place])) return std::nullopt;
  const std::string_view rest = std::string_view(texts_).substr(place);
  return rest.substr(0, std::min(rest.find('\0'), rest.size()));
}

std::optional<std::string_view> Charsmap::replacement(std::string_view text) const noexcept {
  std::size_t node = offset(units_[0]);
  for (const char c : text) {
    const std::uint32_t byte = static_cast<unsigned char>(c);
    if (byte == 0) break;
    node ^= byte;
    if (node >= units_.size() || label(units_[node]) != byte) break;
    const std::uint32_t unit = units_[node];
    node ^= offset(unit);
    if (!has_leaf(unit)) continue;
    if (node >= units_.size()) break;
    return text_at(leaf_value(units_[node]));
  }
  return std::nullopt;
}

void Charsmap::write(std::string_view text, PieceWriter& out) const {
  ChangeWriter changes(out);
  Graphemes graphemes(text);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = graphemes.end(begin);
    const std::string_view grapheme = text.substr(begin, end - begin);
    begin = end;
    if (grapheme.size() < 6) {
      if (const auto text_for_it = replacement(grapheme)) {
        changes.replace(grapheme, *text_for_it);
        continue;
      }
    }
    for (std::size_t i = 0; i < grapheme.size();) {
      const DecodedChar c = decode_at(grapheme, i);
      const std::string_view part = grapheme.substr(i, c.size);
      if (const auto text_for_it = replacement(part)) {
        changes.replace(part, *text_for_it);
      } else {
        changes.add(c.value, 0);
      }
      i += c.size;
    }
  }
  changes.flush();
}

std::string decode_base64(std::string_view text, std::string_view where) {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  static constexpr auto kValues = [] {
    std::array<std::int8_t, 256> values{};
    values.fill(-1);
    for (std::size_t i = 0; i < kDigits.size(); ++i) {
      values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::int8_t>(i);
    }
    return values;
  }();
  if (text.size() % 4 != 0)
    fail(where, fmt::format("is {} characters of base64, expected a multiple of 4", text.size()));
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::int8_t value = kValues[static_cast<unsigned char>(c)];
    if (value < 0) fail(where, "is not base64");
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<char>(bits >> count & 0xFF));
    }
  }
  return bytes;
}

}  // namespace headscope
