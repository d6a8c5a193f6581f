#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headscope/io/checkpoint.h"

namespace headscope {

/// What a model's token ids stand for, as text a person can read. It does not tokenize.
class Vocabulary {
 public:
  /// Ids from here on are refused; the largest vocabularies in use have about a million.
  static constexpr std::size_t kMostTokens = 10'000'000;

  /// From a folder the first of: tokenizer.json (`model.vocab` and `added_tokens`),
  /// vocab.json, vocab.txt. From a GGUF file `tokenizer.ggml.tokens`. Nothing if the
  /// model has none of them (a SentencePiece `tokenizer.model` alone is not read).
  ///
  /// Memory: a small multiple of the file, whatever ids it names.
  ///
  /// \throws Error  kIo if a file cannot be read; kFormat if it is not a vocabulary:
  ///                malformed, values of a wrong type, an id that stands for two tokens
  ///                or is too large. An added token replaces what `model.vocab` has
  ///                under its id, as it does when Hugging Face's tokenizers decode.
  [[nodiscard]] static std::optional<Vocabulary> load(const Checkpoint& checkpoint);

  /// The largest id plus 1. A model's embedding may have more rows, as padding.
  [[nodiscard]] std::size_t size() const noexcept { return entries_.empty() ? 0 : entries_.back().id + std::size_t{1}; }

  /// The token's text in UTF-8, "<id 123>" for an id that has none. Control characters and
  /// bytes that are not UTF-8, such as a part of a character, appear as \xNN; what is
  /// longer than 200 bytes is cut.
  ///
  /// Byte-level BPE (GPT-2 and its heirs) is decoded to the bytes it stands for; with
  /// SentencePiece U+2581 becomes a space and <0x0A> that byte; WordPiece stays as it is
  /// stored: "##ing".
  [[nodiscard]] std::string token(std::size_t id) const;

 private:
  friend class VocabularyBuilder;

  // Only ids that have a token: one with a huge id costs no more than any other.
  struct Entry {
    std::uint32_t id;
    std::uint32_t length;
    std::size_t offset;  // of the decoded bytes in text_
  };

  std::vector<Entry> entries_;  // by id, each once
  std::string text_;
};

}  // namespace headscope
