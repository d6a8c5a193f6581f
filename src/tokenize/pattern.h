#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenize/component.h"
#include "tokenize/regex.h"

namespace headscope {

/// What a tokenizer searches for: a string or a regular expression.
class Pattern {
 public:
  class Search;

  /// Reads the member `pattern`: {"String": ...} or {"Regex": ...}.
  /// \throws Error  kFormat if it is neither; as Regex; kUnsupported for an empty text.
  [[nodiscard]] static Pattern read(const Component& component);
  /// `text` must not be empty.
  [[nodiscard]] static Pattern of_text(std::string text) { return {std::move(text), std::nullopt}; }
  [[nodiscard]] static Pattern of_regex(std::string_view regex, std::string_view where) {
    return {"", Regex(regex, where)};
  }

  [[nodiscard]] bool may_match_empty() const noexcept { return regex_ && regex_->may_match_empty(); }

 private:
  Pattern(std::string text, std::optional<Regex> regex) : text_(std::move(text)), regex_(std::move(regex)) {}

  std::string text_;
  std::optional<Regex> regex_;
};

/// Searches texts for a pattern. Not thread-safe.
class Pattern::Search {
 public:
  /// `pattern` must outlive this object.
  explicit Search(const Pattern& pattern) : pattern_(pattern) {
    if (pattern.regex_) search_.emplace(*pattern.regex_);
  }
  /// As RegexSearch::find_all.
  void find_all(std::string_view text, std::vector<Segment>& segments);

 private:
  const Pattern& pattern_;
  std::optional<RegexSearch> search_;
};

}  // namespace headscope
