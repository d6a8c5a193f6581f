#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "capture/tokenizer/charsmap.h"
#include "capture/tokenizer/component.h"
#include "capture/tokenizer/piece_text.h"

namespace headscope {

/// One step that rewrites a text before it is cut.
class Normalizer {
 public:
  Normalizer() = default;
  Normalizer(const Normalizer&) = delete;
  Normalizer& operator=(const Normalizer&) = delete;
  virtual ~Normalizer() = default;

  virtual void apply(PieceText& text) const = 0;
};

using Normalizers = std::vector<std::unique_ptr<const Normalizer>>;

/// Appends the steps of a normalizer of tokenizer.json, sequences flattened; none for null.
/// \throws Error  kFormat if it is malformed, kUnsupported for a type that is not known.
void read_normalizer(const Component& component, Normalizers& steps);

/// The text of `content` after these steps.
[[nodiscard]] std::string normalized(const Normalizers& steps, std::string_view content);

/// Composes what can be composed.
[[nodiscard]] std::unique_ptr<const Normalizer> make_nfc();

/// BERT's own normalizer.
struct BertNormalizerOptions {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  bool strip_accents = true;
  bool lowercase = true;
};
[[nodiscard]] std::unique_ptr<const Normalizer> make_bert_normalizer(const BertNormalizerOptions& options);

/// Replaces every occurrence of `pattern`, which is not empty.
[[nodiscard]] std::unique_ptr<const Normalizer> make_replace(std::string pattern, std::string content);
/// SentencePiece's table of replacements, as `Charsmap::write` applies it.
[[nodiscard]] std::unique_ptr<const Normalizer> make_charsmap_normalizer(Charsmap map);
/// Puts `content` before a text that is not empty.
[[nodiscard]] std::unique_ptr<const Normalizer> make_prepend(std::string content);

}  // namespace headscope
