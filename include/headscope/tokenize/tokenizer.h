#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "headscope/io/checkpoint.h"

namespace headscope {

class TokenizerPipeline;

/// One token of a text: its id and the bytes [begin, end) of the text it came from. Both are 0 for a special token
/// that is not in the text, such as BOS. A token that is part of a character has the range of the whole character; if a
/// normalizer replaced characters, the range is that of the replaced characters.
struct Token {
  std::uint32_t id;
  std::size_t begin;
  std::size_t end;

  friend bool operator==(const Token&, const Token&) = default;
};

/// Whether to add the special tokens the model expects around a text (BOS, [CLS] and [SEP], ...).
enum class SpecialTokens : std::uint8_t { kAdd, kNone };

/// Converts text to the token ids a model was trained on, id for id like Hugging Face's `tokenizers` with the same
/// files. For the text of an id see `Vocabulary`.
///
/// Truncation and padding settings of tokenizer.json are ignored: each text is encoded whole and on its own. Special
/// tokens that occur in the text ("<|endoftext|>") become their ids, even with `SpecialTokens::kNone`.
///
/// Immutable and thread-safe. Copies share the loaded data.
class Tokenizer {
 public:
  /// Reads, from a folder, the first of these that exists: tokenizer.json; vocab.json and merges.txt (byte-level BPE);
  /// vocab.txt (WordPiece, with the case settings of tokenizer_config.json; without any, lowercase unless the
  /// vocabulary has words with capital letters); from a GGUF file, the keys that start with "tokenizer.ggml.". Returns
  /// nothing if the model has none.
  ///
  /// Memory: a small multiple of the file size.
  ///
  /// \throws Error  kIo if a file cannot be read; kFormat if it is malformed or contradicts itself; kUnsupported for
  ///                anything that cannot be reproduced exactly; the message names the component and the file.
  [[nodiscard]] static std::optional<Tokenizer> load(const Checkpoint& checkpoint);

  /// Same from the text of a tokenizer.json; every error message starts with `where`.
  [[nodiscard]] static Tokenizer from_json(std::string_view text, std::string_view where);

  /// Returns the tokens of `utf8` in order. Cost: about linear in the text, n log n in a word that cannot be split.
  ///
  /// \throws Error  kInvalidArgument if the text is not UTF-8, is 1 GiB or longer, or contains something that has no
  ///                token while the vocabulary has no unknown token; kResource if a regular expression of the tokenizer
  ///                backtracks too much on this text, or if normalizing makes the text more than 64 times as long or
  ///                longer than 4 GiB.
  [[nodiscard]] std::vector<Token> encode(std::string_view utf8, SpecialTokens special = SpecialTokens::kAdd) const;

 private:
  explicit Tokenizer(std::shared_ptr<const TokenizerPipeline> pipeline) : pipeline_(std::move(pipeline)) {}

  std::shared_ptr<const TokenizerPipeline> pipeline_;
};

}  // namespace headscope
