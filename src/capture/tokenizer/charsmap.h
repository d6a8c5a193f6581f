#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capture/tokenizer/piece_text.h"

namespace headscope {

/// SentencePiece's table of replacements: a double-array trie over bytes whose leaves point at the texts to put in.
///
/// The bytes come from a file and are checked at every step: a walk that leaves the array ends there.
class Charsmap {
 public:
  /// `bytes`: the trie's size in bytes (32 bits, little-endian), the trie, then the texts, each ended by a NUL.
  /// \throws Error  kFormat if the sizes contradict each other or the texts are not UTF-8.
  [[nodiscard]] static Charsmap parse(std::string_view bytes, std::string_view where);

  struct Match {
    std::size_t length;  ///< Bytes of the key.
    std::string_view text;
  };
  /// The shortest key that `text` begins with.
  [[nodiscard]] std::optional<Match> shortest_prefix(std::string_view text) const noexcept;
  /// The longest one.
  [[nodiscard]] std::optional<Match> longest_prefix(std::string_view text) const noexcept;

  /// As Hugging Face's `Precompiled`: a grapheme of fewer than 6 bytes is replaced as a whole by what its shortest
  /// prefix stands for, else its characters are replaced one by one.
  void write(std::string_view text, PieceWriter& out) const;

 private:
  [[nodiscard]] std::optional<Match> prefix(std::string_view text, bool longest) const noexcept;
  [[nodiscard]] std::optional<std::string_view> text_at(std::uint32_t offset) const noexcept;

  std::vector<std::uint32_t> units_;
  std::string texts_;
};

/// \throws Error  kFormat if `text` is not base64.
[[nodiscard]] std::string decode_base64(std::string_view text, std::string_view where);

}  // namespace headscope
