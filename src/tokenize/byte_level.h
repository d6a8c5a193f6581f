#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "tokenize/piece_text.h"

namespace headscope {

/// GPT-2's printable character for each byte: the character with the same code if it is printable; the other bytes map,
/// in order, to U+0100 and up. All are below U+0144, so they take at most two bytes in UTF-8.
inline constexpr auto kByteCharacters = [] {
  std::array<char32_t, 256> characters{};
  char32_t next = 256;
  for (std::size_t b = 0; b < 256; ++b) {
    const bool visible = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    characters[b] = visible ? static_cast<char32_t>(b) : next++;
  }
  return characters;
}();

/// GPT-2's regular expression for splitting a text into words.
inline constexpr std::string_view kGpt2Regex =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// Rewrites every byte of every piece as its character.
void rewrite_as_byte_characters(PieceText& text);

}  // namespace headscope
