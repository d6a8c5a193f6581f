#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "capture/tokenizer/added_tokens.h"
#include "capture/tokenizer/normalizer.h"
#include "capture/tokenizer/post_processor.h"
#include "capture/tokenizer/pre_tokenizer.h"
#include "capture/tokenizer/token_model.h"
#include "headscope/capture/tokenizer.h"

namespace headscope {

/// Everything a tokenizer does, in this order: added tokens are found, the rest is normalized, tokens that are
/// normalized too are found, the rest is cut into words, the model turns words into tokens, others are put around them.
class TokenizerPipeline {
 public:
  Normalizers normalizers;
  std::optional<AddedTokens> added;
  PreTokenizers pre_tokenizers;
  std::unique_ptr<const TokenModel> model;
  PostSteps post_steps;
  /// Pre-tokenizers leave the bytes of words as they are, and the model knows.
  bool model_takes_bytes = false;

  [[nodiscard]] std::vector<Token> encode(std::string_view text, SpecialTokens special) const;

 private:
  void cut(PieceText& text) const;
};

/// From the root of a tokenizer.json. `where` begins the message of every error.
/// \throws Error  as Tokenizer::load.
[[nodiscard]] std::unique_ptr<const TokenizerPipeline> read_tokenizer_json(JsonValue root, std::string_view where);

/// From vocab.json and merges.txt of a folder, or from its vocab.txt.
[[nodiscard]] std::unique_ptr<const TokenizerPipeline> read_bpe_files(const Checkpoint& checkpoint);
[[nodiscard]] std::unique_ptr<const TokenizerPipeline> read_word_piece_file(const Checkpoint& checkpoint);

/// From tokenizer.ggml.* of a GGUF file, nullptr if it has no tokens.
[[nodiscard]] std::unique_ptr<const TokenizerPipeline> read_gguf_tokenizer(const Checkpoint& checkpoint);

}  // namespace headscope
