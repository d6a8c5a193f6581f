#include "headscope/base/error.h"

#include <fmt/format.h>

namespace headscope {
namespace {

// Length of the well-formed UTF-8 sequence at the start of `text`, 0 if there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  if (byte(0) < 0x80) return 1;
  if (byte(0) >= 0xC2 && byte(0) < 0xE0) return continues(1) ? 2 : 0;
  if (byte(0) >= 0xE0 && byte(0) < 0xF0) {
    if (!continues(1) || !continues(2)) return 0;
    const bool overlong = byte(0) == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = byte(0) == 0xED && byte(1) >= 0xA0;
    return overlong || surrogate ? 0 : 3;
  }
  if (byte(0) >= 0xF0 && byte(0) < 0xF5) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    const bool overlong = byte(0) == 0xF0 && byte(1) < 0x90;
    const bool too_large = byte(0) == 0xF4 && byte(1) >= 0x90;
    return overlong || too_large ? 0 : 4;
  }
  return 0;
}

// Decodes a well-formed sequence of two or three bytes.
unsigned code_point(std::string_view sequence) {
  unsigned value = static_cast<unsigned char>(sequence[0]) & (sequence.size() == 2 ? 0x1FU : 0x0FU);
  for (const char next : sequence.substr(1)) value = value << 6U | (static_cast<unsigned char>(next) & 0x3FU);
  return value;
}

// Whether the character makes a terminal show the text around it in another order (Unicode's bidirectional controls):
// a file name could then look like another one.
bool changes_direction(std::string_view sequence) {
  if (sequence.size() != 2 && sequence.size() != 3) return false;
  const unsigned value = code_point(sequence);
  return value == 0x061C || value == 0x200E || value == 0x200F || (value >= 0x202A && value <= 0x202E) ||
         (value >= 0x2066 && value <= 0x2069);
}

}  // namespace

std::string printable(std::string_view text, std::size_t longest) {
  std::string out;
  while (!text.empty()) {
    if (out.size() >= longest) return out + "...";
    const std::size_t length = utf8_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    // C1 controls (U+0080 to U+009F) are the two-byte sequences C2 80 to C2 9F.
    if (changes_direction(text.substr(0, length))) {
      out += fmt::format("\\u{:04x}", code_point(text.substr(0, length)));
      text.remove_prefix(length);
      continue;
    }
    const bool control =
        first < 0x20 || first == 0x7F || (length == 2 && first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0);
    if (length == 0 || control) {
      out += fmt::format("\\x{:02x}", first);
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

}  // namespace headscope
