#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "headscope/io/json.h"

namespace headscope {

/// A component of tokenizer.json ("normalizer", "pre_tokenizer", ...) and what to say of it when something is wrong.
class Component {
 public:
  /// `where` begins every message: the file and the place in it.
  Component(JsonValue value, std::string where) : value_(value), where_(std::move(where)) {}

  [[nodiscard]] JsonValue value() const noexcept { return value_; }
  [[nodiscard]] const std::string& where() const noexcept { return where_; }

  /// \throws Error  kFormat if there is none.
  [[nodiscard]] std::string_view type() const;
  /// \throws Error  kFormat, for all of these, if the member is missing or of another kind.
  [[nodiscard]] bool flag(std::string_view key) const;
  [[nodiscard]] std::string_view text(std::string_view key) const;
  /// A token id.
  [[nodiscard]] std::uint32_t id(std::string_view key) const;
  /// What is there if the member is missing or null.
  [[nodiscard]] bool flag_or(std::string_view key, bool otherwise) const;
  [[nodiscard]] std::string_view text_or(std::string_view key, std::string_view otherwise) const;

  /// A member that is an object or an array, with its own place in messages.
  [[nodiscard]] Component member(std::string_view key) const;
  [[nodiscard]] Component list(std::string_view key) const;
  /// Item `index` of a list, for messages.
  [[nodiscard]] Component item(JsonValue value, std::size_t index) const;

  [[noreturn]] void malformed(std::string_view what) const;
  [[noreturn]] void unsupported(std::string_view what) const;

 private:
  JsonValue value_;
  std::string where_;
};

/// A value of a file as a token id, below Vocabulary::kMostTokens.
/// \throws Error  kFormat.
[[nodiscard]] std::uint32_t checked_id(std::uint64_t id, const Component& component);

}  // namespace headscope
