#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "tokenize/component.h"
#include "tokenize/token_table.h"

namespace headscope {

/// Reads merges in order; their order is their rank.
class MergeReader {
 public:
  /// `tokens` must outlive this object. The first `prefix` bytes of a right token are not part of the merged token.
  MergeReader(const TokenTable& tokens, std::size_t prefix, std::string where)
      : tokens_(tokens), prefix_(prefix), where_(std::move(where)) {}

  /// \throws Error  kFormat if one of the two, or the merged token, is not in the vocabulary.
  void add(std::string_view left, std::string_view right, MergeTable& merges);
  /// Parses "left right"; a line that starts with #version is skipped.
  /// \throws Error  kFormat, also if the line is not two texts.
  void add_line(std::string_view line, MergeTable& merges);

  /// Whether some merge appends a token that starts with U+2581 to one that does not end with it.
  [[nodiscard]] bool joins_before_mark() const noexcept { return joins_before_mark_; }

 private:
  [[nodiscard]] std::uint32_t id_of(std::string_view token) const;
  [[noreturn]] void fail(std::string_view what) const;

  const TokenTable& tokens_;
  std::size_t prefix_;
  std::string where_;
  std::uint32_t rank_ = 0;
  bool joins_before_mark_ = false;
};

/// Reads {"token": id, ...}.
/// \throws Error  kFormat if it is something else, or if an id has two tokens.
[[nodiscard]] TokenTable read_token_ids(const Component& component);

}  // namespace headscope
