#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace headscope {

/// A part of a text that a pattern matches, or the part between two matches.
struct Segment {
  std::size_t begin;
  std::size_t end;
  bool is_match;
};

/// A regular expression as written in tokenizer files: Oniguruma syntax over Unicode text. It is translated to PCRE2
/// syntax, where the two differ, and compiled once.
///
/// Oniguruma itself would make the translation unnecessary, but it has no JIT compiler: splitting 10 MB of text with
/// the expressions of GPT-2, Llama 3 and o200k, Oniguruma 6.9.8 takes 0.39 to 0.47 s and PCRE2 10.42 0.10 to 0.14 s,
/// with the same splits. Encoding as a whole, 0.83 to 1.11 s, would take 26 to 37 % longer.
class Regex {
 public:
  /// Every error message starts with `where`.
  /// \throws Error  kUnsupported for anything that is not known to mean the same in both syntaxes; kFormat if the
  ///                expression is malformed.
  Regex(std::string_view pattern, std::string_view where);

  [[nodiscard]] bool may_match_empty() const noexcept { return may_match_empty_; }

 private:
  friend class RegexSearch;
  struct Code;

  std::shared_ptr<const Code> code_;
  std::string shown_;  // for messages
  bool may_match_empty_ = false;
};

/// Searches texts for a regular expression. Not thread-safe.
class RegexSearch {
 public:
  /// `regex` must outlive this object.
  explicit RegexSearch(const Regex& regex);
  RegexSearch(RegexSearch&&) noexcept;
  RegexSearch& operator=(RegexSearch&&) noexcept;
  ~RegexSearch();

  /// Appends all segments of `text` (UTF-8), matches and the parts between them, in order. A match may be empty, but
  /// not at the end of the previous match.
  /// \throws Error  kResource if the expression backtracks more than about 50 million times on the text.
  void find_all(std::string_view text, std::vector<Segment>& segments);

 private:
  struct State;

  const Regex* regex_;
  std::unique_ptr<State> state_;
};

/// Translates the expression to PCRE2 syntax, for PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE.
/// \throws Error  as Regex's constructor.
[[nodiscard]] std::string translate_regex(std::string_view pattern, std::string_view where);

}  // namespace headscope
