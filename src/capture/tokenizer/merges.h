#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "capture/tokenizer/component.h"
#include "capture/tokenizer/token_table.h"

namespace headscope {

/// Reads merges one after the other; their order is their rank.
class MergeReader {
 public:
  /// `tokens` outlives this object. Of the right token the first `prefix` bytes are no part of the result.
  MergeReader(const TokenTable& tokens, std::size_t prefix, std::string where)
      : tokens_(tokens), prefix_(prefix), where_(std::move(where)) {}

  /// \throws Error  kFormat if one of the two, or what they become, is no token.
  void add(std::string_view left, std::string_view right, MergeTable& merges);
  /// "left right"; a line that begins with #version is none.
  /// \throws Error  kFormat, also if it is not two texts.
  void add_line(std::string_view line, MergeTable& merges);

  /// Whether some merge joins a token that begins with U+2581 to one that does not end with it.
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

/// {"token": id, ...}
/// \throws Error  kFormat if it is something else, or an id stands for two tokens.
[[nodiscard]] TokenTable read_token_ids(const Component& component);

}  // namespace headscope
