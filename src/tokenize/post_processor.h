#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "headscope/tokenize/tokenizer.h"
#include "tokenize/component.h"

namespace headscope {

/// A token with its text: from the input for an added token, else from the vocabulary, or empty if no step trims
/// offsets.
struct TextToken {
  Token token;
  std::string_view text;
};

/// One step after the model.
struct PostStep {
  enum class Kind : std::uint8_t { kTrim, kTemplate };
  Kind kind;
  /// For kTrim: whether the pre-tokenizer may have put a space at the beginning, which is not part of the text.
  bool add_prefix_space = false;
  /// For kTemplate: ids, or nothing for the tokens of the text.
  std::vector<std::optional<std::uint32_t>> items;
};

using PostSteps = std::vector<PostStep>;

/// Appends the steps of a post-processor of tokenizer.json, with sequences flattened; appends nothing for null.
/// \throws Error  kFormat if it is malformed, kUnsupported for an unknown type.
void read_post_processor(const Component& component, PostSteps& steps);

/// Excludes leading and trailing spaces from the ranges of byte-level tokens.
void trim_offsets(std::string_view text, bool add_prefix_space, std::vector<TextToken>& tokens);

/// Adds the template's tokens around those of the text.
void apply_template(const PostStep& step, std::vector<TextToken>& tokens);

}  // namespace headscope
