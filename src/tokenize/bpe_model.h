#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenize/token_model.h"

namespace headscope {

struct BpeOptions {
  std::optional<std::string> unknown;  ///< Text of the unknown token; it may be missing from the vocabulary.
  bool fuse_unknown = false;           ///< Use one unknown token for a run of unknown characters.
  bool byte_fallback = false;          ///< Try byte tokens such as <0x41> before the unknown token.
  bool ignore_merges = false;          ///< A word that is itself a token becomes that token, whatever the merges say.
  bool byte_level = false;             ///< Words are bytes; tokens are written with GPT-2's characters for bytes.
  std::string prefix;                  ///< Added to all characters of a word but the first.
  std::string suffix;                  ///< Added to the last character of a word.
};

/// Byte pair encoding: starts with the characters of a word and repeatedly joins the adjacent pair whose merge has the
/// lowest rank, the leftmost if there are several. O(n log n) for a word of n characters.
class BpeModel : public TokenModel {
 public:
  BpeModel(TokenTable tokens, MergeTable merges, BpeOptions options);

  void tokenize(std::string_view word, std::vector<WordToken>& out) const override;

 private:
  struct Symbol {
    std::uint32_t id;
    std::uint32_t length;  // in bytes; 0 once merged into the previous symbol
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
  std::array<std::optional<std::uint32_t>, 256> characters_{};  // with byte_level: token of each byte
};

}  // namespace headscope
