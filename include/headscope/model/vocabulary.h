#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headscope/io/checkpoint.h"

namespace headscope {

/// Maps a model's token ids to human-readable text. Does not tokenize.
class Vocabulary {
 public:
  /// Ids must be smaller than this; the largest vocabularies in use have about a million.
  static constexpr std::size_t kMaxTokens = 10'000'000;

  /// Reads, from a folder, the first of these that exists: tokenizer.json (`model.vocab` and `added_tokens`),
  /// vocab.json, vocab.txt; from a GGUF file, `tokenizer.ggml.tokens`. Returns nothing if the model has none of them (a
  /// SentencePiece `tokenizer.model` alone is not read).
  ///
  /// Memory: a small multiple of the file size, whatever the ids.
  ///
  /// \throws Error  kIo if a file cannot be read; kFormat if it is not a vocabulary: malformed, values of a wrong type,
  ///                an id with two tokens, or an id that is too large. Not an error: an added token replaces the token
  ///                that `model.vocab` has for its id, as when Hugging Face's tokenizers decode.
  [[nodiscard]] static std::optional<Vocabulary> load(const Checkpoint& checkpoint);

  /// The largest id plus 1. A model's embedding may have more rows, for padding.
  [[nodiscard]] std::size_t size() const noexcept { return entries_.empty() ? 0 : entries_.back().id + std::size_t{1}; }

  /// Returns the token's text in UTF-8, or "<id 123>" for an id without a token. Control characters and bytes that are
  /// not UTF-8, such as part of a character, appear as `\xNN`; text longer than 200 bytes is truncated.
  ///
  /// Byte-level BPE (GPT-2 and its descendants) is decoded to the bytes it represents; with SentencePiece, U+2581
  /// becomes a space and <0x0A> that byte; WordPiece stays as stored: "##ing".
  [[nodiscard]] std::string token(std::size_t id) const;

 private:
  friend class VocabularyBuilder;

  // Only ids that have a token are stored, so a huge id costs no more than any other.
  struct Entry {
    std::uint32_t id;
    std::uint32_t length;
    std::size_t offset;  // of the decoded bytes in text_
  };

  std::vector<Entry> entries_;  // sorted by id, without duplicates
  std::string text_;
};

}  // namespace headscope
