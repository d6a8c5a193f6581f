#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capture/tokenizer/byte_trie.h"
#include "capture/tokenizer/token_model.h"

namespace headscope {

/// Every word is a token or unknown.
class WordLevelModel : public TokenModel {
 public:
  WordLevelModel(TokenTable tokens, std::string_view unknown);

  void tokenize(std::string_view word, std::vector<WordToken>& out) const override;

 private:
  std::optional<std::uint32_t> unknown_id_;
};

/// The longest token a word begins with, then the longest the rest begins with; unknown as a whole if a rest has none.
class WordPieceModel : public TokenModel {
 public:
  struct Options {
    std::string unknown = "[UNK]";
    std::string continuing_prefix = "##";  ///< Tokens that do not begin a word are written with this before them.
    std::size_t most_characters = 100;     ///< Longer words are unknown.
  };
  WordPieceModel(TokenTable tokens, const Options& options);

  void tokenize(std::string_view word, std::vector<WordToken>& out) const override;

 private:
  ByteTrie trie_;
  ByteTrie::Node continuing_;
  std::size_t most_characters_;
  std::optional<std::uint32_t> unknown_id_;
};

/// The tokens whose scores add up to most (Viterbi). A character without a token of its own may be unknown, at ten less
/// than the lowest score; a run of them is one.
class UnigramModel : public TokenModel {
 public:
  /// `scores` of the ids, all of them.
  UnigramModel(TokenTable tokens, std::vector<double> scores, std::optional<std::uint32_t> unknown, bool byte_fallback);

  void tokenize(std::string_view word, std::vector<WordToken>& out) const override;

 private:
  struct Best {
    double score = 0.0;
    std::uint32_t begin = kNever;  // of the last token
    std::uint32_t id = 0;
  };
  static constexpr std::uint32_t kNever = 0xFFFFFFFF;

  [[nodiscard]] std::vector<Best> best_ends(std::string_view word) const;
  void emit(std::string_view word, Span span, std::vector<WordToken>& out) const;

  ByteTrie trie_;
  std::vector<double> scores_;
  std::optional<std::uint32_t> unknown_id_;
  bool byte_fallback_;
  double unknown_score_;
  ByteTokens byte_tokens_{};
};

/// SentencePiece's BPE as GGUF files store it: characters beside each other are joined if the result is a token, that
/// of the highest score first, the leftmost of several. What is left without a token is written as bytes, <0x41>.
class ScoredBpeModel : public TokenModel {
 public:
  ScoredBpeModel(TokenTable tokens, std::vector<float> scores, std::optional<std::uint32_t> unknown);

  void tokenize(std::string_view word, std::vector<WordToken>& out) const override;

 private:
  std::vector<float> scores_;
  std::optional<std::uint32_t> unknown_id_;
  ByteTokens byte_tokens_;
};

}  // namespace headscope
