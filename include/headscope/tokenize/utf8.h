#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace headscope {

// UTF-8, code point by code point.

/// One code point of valid UTF-8 text.
struct DecodedChar {
  char32_t value;
  std::size_t size;  ///< In bytes, 1 to 4.
};

/// Returns the code point at `text[at]`, which must be the first byte of a character.
[[nodiscard]] inline DecodedChar decode_at(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[at + i])); };
  const char32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xE0) return {(first & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (first < 0xF0) return {(first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  return {(first & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F), 4};
}

[[nodiscard]] inline bool is_continuation(char c) noexcept {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

/// Returns the code point that ends before `text[end]`, end > 0.
[[nodiscard]] inline DecodedChar decode_before(std::string_view text, std::size_t end) noexcept {
  std::size_t begin = end - 1;
  while (begin > 0 && is_continuation(text[begin])) --begin;
  return decode_at(text, begin);
}

/// Appends a code point, which must not be a surrogate.
inline void append_utf8(std::string& out, char32_t c) {
  const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

/// Returns the length of the longest prefix of `text` that is valid UTF-8.
[[nodiscard]] inline std::size_t valid_utf8_prefix(std::string_view text) noexcept {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto first = static_cast<unsigned char>(text[i]);
    if (first < 0x80) {
      ++i;
      continue;
    }
    const std::size_t size = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    if (size == 0 || text.size() - i < size) return i;
    for (std::size_t k = 1; k < size; ++k) {
      if (!is_continuation(text[i + k])) return i;
    }
    const char32_t c = decode_at(text, i).value;
    const bool shortest = size == 2 || (size == 3 && c >= 0x800) || (size == 4 && c >= 0x10000);
    if (!shortest || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return i;
    i += size;
  }
  return i;
}

}  // namespace headscope
