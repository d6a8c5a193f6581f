#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "capture/tokenizer/component.h"
#include "headscope/capture/tokenizer.h"

namespace headscope {

/// A token with the text it has in the vocabulary, or in the input for an added one.
struct TextToken {
  Token token;
  std::string_view text;
};

/// One step after the model.
struct PostStep {
  enum class Kind : std::uint8_t { kTrim, kTemplate };
  Kind kind;
  /// Of kTrim: whether a first space was put there by the pre-tokenizer and is no part of the text.
  bool add_prefix_space = false;
  /// Of kTemplate: ids, or nothing for the tokens of the text.
  std::vector<std::optional<std::uint32_t>> items;
};

using PostSteps = std::vector<PostStep>;

/// Appends the steps of a post-processor of tokenizer.json, sequences flattened; none for null.
/// \throws Error  kFormat if it is malformed, kUnsupported for a type that is not known.
void read_post_processor(const Component& component, PostSteps& steps);

/// Spaces at the ends of byte-level tokens do not count as their range.
void trim_offsets(std::string_view text, bool add_prefix_space, std::vector<TextToken>& tokens);

/// Puts the tokens of the template around those of the text.
void apply_template(const PostStep& step, std::vector<TextToken>& tokens);

}  // namespace headscope
