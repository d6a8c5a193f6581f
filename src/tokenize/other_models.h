#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenize/byte_trie.h"
#include "tokenize/token_model.h"

namespace headscope {

/// Every word is one token, or unknown.
class WordLevelModel : public TokenModel {
 public:
  WordLevelModel(TokenTable tokens, std::string_view unknown);

  void tokenize(std::string_view word, std::vector<WordToken>& out) const override;

 private:
  std::optional<std::uint32_t> unknown_id_;
};

/// Splits a word greedily: the longest token that the word starts with, then the longest that the rest starts with. If
/// some rest has none, the whole word is unknown.
class WordPieceModel : public TokenModel {
 public:
  struct Options {
    std::string unknown = "[UNK]";
    std::string continuing_prefix = "##";  ///< Prefix in the vocabulary of tokens that do not start a word.
    std::size_t max_characters = 100;      ///< Longer words are unknown.
  };
  WordPieceModel(TokenTable tokens, const Options& options);

  void tokenize(std::string_view word, std::vector<WordToken>& out) const override;

 private:
  ByteTrie trie_;
  ByteTrie::Node continuing_;
  std::size_t max_characters_;
  std::optional<std::uint32_t> unknown_id_;
};

/// Finds the tokens with the largest sum of scores (Viterbi). A character that is not a token may be unknown, with a
/// score 10 below the lowest; consecutive unknown characters become one token.
class UnigramModel : public TokenModel {
 public:
  /// `scores` holds one score per id.
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

/// SentencePiece's BPE as GGUF files store it: joins adjacent symbols if the result is a token, the one with the
/// highest score first, the leftmost if there are several. Parts without a token are written as byte tokens, <0x41>.
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
