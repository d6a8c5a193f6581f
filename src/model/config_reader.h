#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/io/checkpoint.h"

namespace headscope {

/// Returns the value at "key" or "object.key"; null if there is none.
[[nodiscard]] JsonValue find_path(JsonValue scope, std::string_view path);

/// Reads checked numbers and strings from a configuration; errors name the file and the key.
class ConfigReader {
 public:
  ConfigReader(const Checkpoint& checkpoint, JsonValue scope) : checkpoint_(&checkpoint), scope_(scope) {}

  /// Reader for another object of the same file.
  [[nodiscard]] ConfigReader inside(JsonValue scope) const { return {*checkpoint_, scope}; }
  [[nodiscard]] JsonValue scope() const noexcept { return scope_; }
  /// Path of the file, for messages.
  [[nodiscard]] std::string path() const { return checkpoint_->config_path().string(); }
  /// Whether the key is present with the value null.
  [[nodiscard]] bool is_null(std::string_view key) const;

  /// Returns the value of the first of the keys that is present; null counts as absent. A key may be "object.key".
  /// \throws Error  kFormat if it has another type, is not finite or not positive.
  [[nodiscard]] std::optional<double> positive(const std::vector<std::string>& keys) const;
  [[nodiscard]] std::optional<std::size_t> size(const std::vector<std::string>& keys) const;
  [[nodiscard]] std::optional<bool> boolean(std::string_view key) const;
  [[nodiscard]] std::optional<std::string_view> word(const std::vector<std::string>& keys) const;
  /// Returns a list of positive numbers.
  [[nodiscard]] std::vector<double> numbers(std::string_view key) const;

  [[noreturn]] void malformed(const std::string& what) const;
  [[noreturn]] void unsupported(const std::string& what) const;

 private:
  [[nodiscard]] JsonValue first(const std::vector<std::string>& keys, std::string& found) const;

  const Checkpoint* checkpoint_;
  JsonValue scope_;
};

}  // namespace headscope
