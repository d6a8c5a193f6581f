#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "headscope/io/json.h"

namespace headscope {

/// A component of tokenizer.json ("normalizer", "pre_tokenizer", ...) and its location for error messages.
class Component {
 public:
  /// Every error message starts with `where`: the file and the path inside it.
  Component(JsonValue value, std::string where) : value_(value), where_(std::move(where)) {}

  [[nodiscard]] JsonValue value() const noexcept { return value_; }
  [[nodiscard]] const std::string& where() const noexcept { return where_; }

  /// \throws Error  kFormat if it has no type.
  [[nodiscard]] std::string_view type() const;
  /// \throws Error  kFormat, for all of these, if the member is missing or has another type.
  [[nodiscard]] bool flag(std::string_view key) const;
  [[nodiscard]] std::string_view text(std::string_view key) const;
  /// A token id.
  [[nodiscard]] std::uint32_t id(std::string_view key) const;
  /// Returns `otherwise` if the member is missing or null.
  [[nodiscard]] bool flag_or(std::string_view key, bool otherwise) const;
  [[nodiscard]] std::string_view text_or(std::string_view key, std::string_view otherwise) const;

  /// Returns a member that is an object or an array, with its own location for messages.
  [[nodiscard]] Component member(std::string_view key) const;
  [[nodiscard]] Component list(std::string_view key) const;
  /// Returns item `index` of a list, with its own location for messages.
  [[nodiscard]] Component item(JsonValue value, std::size_t index) const;

  [[noreturn]] void malformed(std::string_view what) const;
  [[noreturn]] void unsupported(std::string_view what) const;

 private:
  JsonValue value_;
  std::string where_;
};

/// Checks that a number from a file is a token id, i.e. below Vocabulary::kMaxTokens.
/// \throws Error  kFormat.
[[nodiscard]] std::uint32_t checked_id(std::uint64_t id, const Component& component);

}  // namespace headscope
