#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenize/piece_text.h"

namespace headscope {

/// SentencePiece's table of replacements: a double-array trie over bytes whose leaves point to the replacement texts.
///
/// The bytes come from a file and are checked at every step: a walk that leaves the array ends there.
class Charsmap {
 public:
  /// `bytes`: the trie's size in bytes (32 bits, little-endian), the trie, then the NUL-terminated texts.
  /// \throws Error  kFormat if the sizes contradict each other or the texts are not UTF-8.
  [[nodiscard]] static Charsmap parse(std::string_view bytes, std::string_view where);

  /// Returns the replacement for the shortest key that `text` starts with.
  [[nodiscard]] std::optional<std::string_view> replacement(std::string_view text) const noexcept;
  /// Applies the replacements like Hugging Face's `Precompiled`: a grapheme of fewer than 6 bytes is replaced as a
  /// whole by the replacement of its shortest matching prefix; otherwise its characters are replaced one by one.
  void write(std::string_view text, PieceWriter& out) const;

 private:
  [[nodiscard]] std::optional<std::string_view> text_at(std::uint32_t place) const noexcept;

  std::vector<std::uint32_t> units_;
  std::string texts_;
};

/// \throws Error  kFormat if `text` is not base64.
[[nodiscard]] std::string decode_base64(std::string_view text, std::string_view where);

}  // namespace headscope
