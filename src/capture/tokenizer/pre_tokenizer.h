#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "capture/tokenizer/component.h"
#include "capture/tokenizer/piece_text.h"

namespace headscope {

/// One step that cuts a text into the words the model sees one by one.
class PreTokenizer {
 public:
  PreTokenizer() = default;
  PreTokenizer(const PreTokenizer&) = delete;
  PreTokenizer& operator=(const PreTokenizer&) = delete;
  virtual ~PreTokenizer() = default;

  virtual void apply(PieceText& text) const = 0;
};

struct PreTokenizers {
  std::vector<std::unique_ptr<const PreTokenizer>> steps;
  /// After the steps every byte is to be written as its character (GPT-2's), which they leave to the model: it can do
  /// without.
  bool then_byte_level = false;
};

/// Appends the steps of a pre-tokenizer of tokenizer.json, sequences flattened; none for null.
/// \throws Error  kFormat if it is malformed, kUnsupported for a type that is not known.
void read_pre_tokenizer(const Component& component, PreTokenizers& steps);

/// What becomes of the matches of a pattern.
enum class SplitBehavior : std::uint8_t { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// Cuts at the matches of a regular expression, each of which is a piece.
[[nodiscard]] std::unique_ptr<const PreTokenizer> make_isolating_split(std::string_view regex, std::string_view where);
/// As BERT cuts: at spaces, which are dropped, and around every punctuation.
[[nodiscard]] std::unique_ptr<const PreTokenizer> make_bert_pre_tokenizer();
/// GPT-2's: a space before a text that begins with none, if asked, then its regular expression.
[[nodiscard]] std::unique_ptr<const PreTokenizer> make_byte_level(bool add_prefix_space, bool use_regex);
/// Drops white space.
[[nodiscard]] std::unique_ptr<const PreTokenizer> make_whitespace_split();

/// Cuts before every run of U+2581. It changes no token where nothing is joined with one that begins with the mark, and
/// makes words short and alike, so that most are known already.
[[nodiscard]] std::unique_ptr<const PreTokenizer> make_mark_split();
/// U+2581, which SentencePiece writes for a space.
inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

enum class PrependScheme : std::uint8_t { kAlways, kFirst, kNever };
/// SentencePiece's: spaces become `replacement`, which is also put before a text, and begins a piece if `split`.
[[nodiscard]] std::unique_ptr<const PreTokenizer> make_metaspace(char32_t replacement, PrependScheme scheme,
                                                                 bool split);

}  // namespace headscope
