#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenize/piece_text.h"
#include "tokenize/token_table.h"

namespace headscope {

/// A token of a word: its id and its bytes in the word.
struct WordToken {
  std::uint32_t id;
  Span span;
};

/// Turns words into tokens.
class TokenModel {
 public:
  explicit TokenModel(TokenTable tokens) : tokens_(std::move(tokens)) {}
  TokenModel(const TokenModel&) = delete;
  TokenModel& operator=(const TokenModel&) = delete;
  virtual ~TokenModel() = default;

  /// Appends the tokens of a word, which must not be empty.
  /// \throws Error  kInvalidArgument if a part has no token and there is no unknown token either.
  virtual void tokenize(std::string_view word, std::vector<WordToken>& out) const = 0;

  [[nodiscard]] const TokenTable& tokens() const noexcept { return tokens_; }

 private:
  TokenTable tokens_;
};

/// Ids of the tokens <0x00> to <0xFF>, where they exist.
using ByteTokens = std::array<std::optional<std::uint32_t>, 256>;
[[nodiscard]] ByteTokens find_byte_tokens(const TokenTable& tokens);

/// \throws Error  kInvalidArgument, saying that `part` has no token.
[[noreturn]] void throw_no_token(std::string_view part);

}  // namespace headscope
