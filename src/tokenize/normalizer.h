#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenize/charsmap.h"
#include "tokenize/component.h"
#include "tokenize/piece_text.h"

namespace headscope {

/// One step that rewrites a text before it is split.
class Normalizer {
 public:
  Normalizer() = default;
  Normalizer(const Normalizer&) = delete;
  Normalizer& operator=(const Normalizer&) = delete;
  virtual ~Normalizer() = default;

  virtual void apply(PieceText& text) const = 0;
};

using Normalizers = std::vector<std::unique_ptr<const Normalizer>>;

/// Appends the steps of a normalizer of tokenizer.json, with sequences flattened; appends nothing for null.
/// \throws Error  kFormat if it is malformed, kUnsupported for an unknown type.
void read_normalizer(const Component& component, Normalizers& steps);

/// Returns `content` after these steps.
[[nodiscard]] std::string normalized(const Normalizers& steps, std::string_view content);

/// Unicode normalization form NFC.
[[nodiscard]] std::unique_ptr<const Normalizer> make_nfc();

/// Options of BERT's own normalizer.
struct BertNormalizerOptions {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  bool strip_accents = true;
  bool lowercase = true;
};
[[nodiscard]] std::unique_ptr<const Normalizer> make_bert_normalizer(const BertNormalizerOptions& options);

/// Replaces every occurrence of `pattern`, which must not be empty.
[[nodiscard]] std::unique_ptr<const Normalizer> make_replace(std::string pattern, std::string content);
/// SentencePiece's table of replacements, as `Charsmap::write` applies it.
[[nodiscard]] std::unique_ptr<const Normalizer> make_charsmap_normalizer(Charsmap map);
/// Prepends `content` to a non-empty text.
[[nodiscard]] std::unique_ptr<const Normalizer> make_prepend(std::string content);

}  // namespace headscope
