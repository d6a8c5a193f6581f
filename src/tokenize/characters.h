#pragma once

namespace headscope {

/// Character classes as tokenizers define them. Unicode data is from utf8proc (Unicode 15).

/// Unicode property White_Space.
[[nodiscard]] constexpr bool is_space(char32_t c) noexcept {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

/// Punctuation (P*) or an ASCII symbol.
[[nodiscard]] bool is_punctuation(char32_t c) noexcept;

/// Control, format or private use (Cc, Cf, Co).
[[nodiscard]] bool is_control(char32_t c) noexcept;

/// Category Mn.
[[nodiscard]] bool is_nonspacing_mark(char32_t c) noexcept;

/// Category Mn, Mc or Me.
[[nodiscard]] bool is_mark(char32_t c) noexcept;

/// Category Nd, Nl or No.
[[nodiscard]] bool is_number(char32_t c) noexcept;

/// What \w matches in Rust's regular expressions: alphabetic, marks, decimal digits, connectors and joiners.
[[nodiscard]] bool is_word(char32_t c) noexcept;

/// Whether BERT surrounds the character with spaces: the blocks its authors listed.
[[nodiscard]] constexpr bool is_cjk_ideograph(char32_t c) noexcept {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0x2F800 && c <= 0x2FA1F);
}

/// Lowercase of one character. Only U+0130 maps to two characters, `i` and U+0307.
struct Lowered {
  char32_t first;
  char32_t second;  ///< 0 if there is no second character.
};
[[nodiscard]] Lowered lowercase(char32_t c) noexcept;

}  // namespace headscope
