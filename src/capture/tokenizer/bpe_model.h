#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capture/tokenizer/token_model.h"

namespace headscope {

struct BpeOptions {
  std::optional<std::string> unknown;  ///< Text of the token for what has none; may itself have none.
  bool fuse_unknown = false;           ///< One such token for a run of them.
  bool byte_fallback = false;          ///< <0x41> and the like before the unknown token.
  bool ignore_merges = false;          ///< A word that is a token is that token, whatever the merges say.
  bool byte_level = false;             ///< Words are bytes, tokens are written in GPT-2's characters for bytes.
  std::string prefix;                  ///< Of all characters of a word but the first.
  std::string suffix;                  ///< Of a word's last character.
};

/// Byte pair encoding: a word is its characters, and of the pairs beside each other that have a merge the one of the
/// lowest rank, the leftmost of several, is joined until none is left. O(n log n) for a word of n characters.
class BpeModel : public TokenModel {
 public:
  BpeModel(TokenTable tokens, MergeTable merges, BpeOptions options);

  void tokenize(std::string_view word, std::vector<WordToken>& out) const override;

 private:
  struct Symbol {
    std::uint32_t id;
    std::uint32_t length;  // in bytes; 0 once it was joined with the one before
    std::uint32_t previous;
    std::uint32_t next;
  };

  [[nodiscard]] bool is_whole_token(std::string_view word, std::vector<WordToken>& out) const;
  [[nodiscard]] std::vector<Symbol> symbols_of(std::string_view word) const;
  [[nodiscard]] std::vector<Symbol> symbols_of_bytes(std::string_view word) const;
  void merge(std::vector<Symbol>& symbols) const;
  [[nodiscard]] std::uint32_t unknown_id(std::string_view part) const;

  MergeTable merges_;
  BpeOptions options_;
  std::optional<std::uint32_t> unknown_id_;
  ByteTokens byte_tokens_{};                                    // <0x41>
  std::array<std::optional<std::uint32_t>, 256> characters_{};  // with byte_level, of each byte
};

}  // namespace headscope
