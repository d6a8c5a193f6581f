#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "headscope/tokenize/tokenizer.h"
#include "tokenize/added_tokens.h"
#include "tokenize/normalizer.h"
#include "tokenize/post_processor.h"
#include "tokenize/pre_tokenizer.h"
#include "tokenize/token_model.h"

namespace headscope {

/// All steps of a tokenizer, in this order: match added tokens, normalize the rest, match added tokens that are
/// normalized, split the rest into words, turn words into tokens with the model, add special tokens around them.
class TokenizerPipeline {
 public:
  Normalizers normalizers;
  std::optional<AddedTokens> added;
  PreTokenizers pre_tokenizers;
  std::unique_ptr<const TokenModel> model;
  PostSteps post_steps;
  /// Pre-tokenizers leave words as raw bytes, which the model takes (BpeOptions::byte_level).
  bool model_takes_bytes = false;

  [[nodiscard]] std::vector<Token> encode(std::string_view text, SpecialTokens special) const;

 private:
  void cut(PieceText& text) const;
};

/// Reads the root of a tokenizer.json. Every error message starts with `where`.
/// \throws Error  as Tokenizer::load.
[[nodiscard]] std::unique_ptr<const TokenizerPipeline> read_tokenizer_json(JsonValue root, std::string_view where);

/// Reads vocab.json and merges.txt of a folder, or its vocab.txt.
[[nodiscard]] std::unique_ptr<const TokenizerPipeline> read_bpe_files(const Checkpoint& checkpoint);
[[nodiscard]] std::unique_ptr<const TokenizerPipeline> read_word_piece_file(const Checkpoint& checkpoint);

/// Reads tokenizer.ggml.* of a GGUF file; returns nullptr if it has no tokens.
[[nodiscard]] std::unique_ptr<const TokenizerPipeline> read_gguf_tokenizer(const Checkpoint& checkpoint);

}  // namespace headscope
