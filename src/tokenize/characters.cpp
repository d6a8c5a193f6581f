#include "tokenize/characters.h"

#include <utf8proc.h>

namespace headscope {
namespace {

utf8proc_category_t category(char32_t c) noexcept {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

constexpr bool is_ascii_letter(char32_t c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

constexpr bool is_ascii_digit(char32_t c) noexcept {
  return c >= '0' && c <= '9';
}

}  // namespace

bool is_punctuation(char32_t c) noexcept {
  if (c < 0x80) return c > 0x20 && c < 0x7F && !is_ascii_letter(c) && !is_ascii_digit(c);
  const utf8proc_category_t kind = category(c);
  return kind >= UTF8PROC_CATEGORY_PC && kind <= UTF8PROC_CATEGORY_PO;
}

bool is_control(char32_t c) noexcept {
  if (c < 0x80) return c < 0x20 || c == 0x7F;
  const utf8proc_category_t kind = category(c);
  return kind == UTF8PROC_CATEGORY_CC || kind == UTF8PROC_CATEGORY_CF || kind == UTF8PROC_CATEGORY_CO;
}

bool is_nonspacing_mark(char32_t c) noexcept {
  return c >= 0x300 && category(c) == UTF8PROC_CATEGORY_MN;
}

bool is_mark(char32_t c) noexcept {
  if (c < 0x300) return false;
  const utf8proc_category_t kind = category(c);
  return kind >= UTF8PROC_CATEGORY_MN && kind <= UTF8PROC_CATEGORY_ME;
}

bool is_number(char32_t c) noexcept {
  if (c < 0x80) return is_ascii_digit(c);
  const utf8proc_category_t kind = category(c);
  return kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO;
}

bool is_word(char32_t c) noexcept {
  if (c < 0x80) return is_ascii_letter(c) || is_ascii_digit(c) || c == '_';
  // Circled and squared letters are alphabetic although they are symbols.
  if (c == 0x200C || c == 0x200D || (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
      (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189)) {
    return true;
  }
  const utf8proc_category_t kind = category(c);
  return (kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_NL) || kind == UTF8PROC_CATEGORY_PC;
}

Lowered lowercase(char32_t c) noexcept {
  if (c < 0x80) return {c >= 'A' && c <= 'Z' ? c + 32 : c, 0};
  if (c == 0x130) return {U'i', 0x307};
  return {static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))), 0};
}

}  // namespace headscope
