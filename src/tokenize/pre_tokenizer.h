#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenize/component.h"
#include "tokenize/piece_text.h"

namespace headscope {

/// One step that splits a text into the words that the model sees one by one.
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
  /// After the steps, every byte must be rewritten as its GPT-2 character. This is not a step, because a model that
  /// takes bytes does without it.
  bool then_byte_level = false;
};

/// Appends the steps of a pre-tokenizer of tokenizer.json, with sequences flattened; appends nothing for null.
/// \throws Error  kFormat if it is malformed, kUnsupported for an unknown type.
void read_pre_tokenizer(const Component& component, PreTokenizers& steps);

/// What happens to the matches of a pattern.
enum class SplitBehavior : std::uint8_t { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// Splits at the matches of a regular expression; each match becomes a piece.
[[nodiscard]] std::unique_ptr<const PreTokenizer> make_isolating_split(std::string_view regex, std::string_view where);
/// Splits like BERT: at whitespace, which is dropped, and around every punctuation character.
[[nodiscard]] std::unique_ptr<const PreTokenizer> make_bert_pre_tokenizer();
/// Splits like GPT-2: if requested, prepends a space to a text that does not start with one, then applies its regular
/// expression.
[[nodiscard]] std::unique_ptr<const PreTokenizer> make_byte_level(bool add_prefix_space, bool use_regex);
/// Splits at whitespace, which is dropped.
[[nodiscard]] std::unique_ptr<const PreTokenizer> make_whitespace_split();

/// Splits before every run of U+2581. Does not change the tokens if no merge joins across that boundary, and makes
/// words short and repetitive, so that most are already in the word cache.
[[nodiscard]] std::unique_ptr<const PreTokenizer> make_mark_split();
/// U+2581, which SentencePiece writes for a space.
inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

enum class PrependScheme : std::uint8_t { kAlways, kFirst, kNever };
/// SentencePiece's: replaces spaces by `replacement`, which `scheme` may also prepend to a text, and which starts a new
/// piece if `split` is true.
[[nodiscard]] std::unique_ptr<const PreTokenizer> make_metaspace(char32_t replacement, PrependScheme scheme,
                                                                 bool split);

}  // namespace headscope
