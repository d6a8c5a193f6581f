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

/// One token of a text: its id and the bytes [begin, end) of the text it came from. Both are 0 for a token that was
/// added, such as BOS. A token that is a part of a character has the range of the whole character; where a normalizer
/// replaced characters, the range is that of what they replaced.
struct Token {
  std::uint32_t id;
  std::size_t begin;
  std::size_t end;

  friend bool operator==(const Token&, const Token&) = default;
};

/// Whether a text gets the tokens the model expects around it (BOS, [CLS] and [SEP], ...).
enum class SpecialTokens : std::uint8_t { kAdd, kNone };

/// Turns text into the token ids a model was trained on, as Hugging Face's `tokenizers` does with the same files, id
/// for id. What ids stand for is `Vocabulary`'s business.
///
/// Truncation and padding settings of tokenizer.json are ignored: a text is encoded whole and alone. Special tokens
/// that occur in the text ("<|endoftext|>") become their ids, also with `SpecialTokens::kNone`.
///
/// A Tokenizer is immutable: threads may share it. Copies share what was read.
class Tokenizer {
 public:
  /// From a folder the first of: tokenizer.json; vocab.json and merges.txt (byte-level BPE); vocab.txt (WordPiece, with
  /// what tokenizer_config.json says of case). From a GGUF file `tokenizer.ggml.*`. Nothing if the model has none.
  ///
  /// Memory: a small multiple of the file.
  ///
  /// \throws Error  kIo if a file cannot be read; kFormat if it is malformed or contradicts itself; kUnsupported,
  /// naming
  ///                the component and the file, for anything that could not be followed exactly.
  [[nodiscard]] static std::optional<Tokenizer> load(const Checkpoint& checkpoint);

  /// The same from the text of a tokenizer.json; `where` begins the message of every error.
  [[nodiscard]] static Tokenizer from_json(std::string_view text, std::string_view where);

  /// Tokens of `utf8` in its order. Cost: about linear in the text, n log n in a word that has no place to be split.
  ///
  /// \throws Error  kInvalidArgument if the text is not UTF-8, is 1 GiB or longer, or holds something the vocabulary
  /// has
  ///                no token for and no unknown token either; kResource if a regular expression of the tokenizer
  ///                backtracks without end on this text, or normalizing makes it more than 64 times as long.
  [[nodiscard]] std::vector<Token> encode(std::string_view utf8, SpecialTokens special = SpecialTokens::kAdd) const;

 private:
  explicit Tokenizer(std::shared_ptr<const TokenizerPipeline> pipeline) : pipeline_(std::move(pipeline)) {}

  std::shared_ptr<const TokenizerPipeline> pipeline_;
};

}  // namespace headscope
