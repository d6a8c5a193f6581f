#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/io/checkpoint.h"

namespace headscope {

/// Reads numbers and words out of a configuration and says clearly what is wrong with one.
class ConfigReader {
 public:
  ConfigReader(const Checkpoint& checkpoint, JsonValue scope) : checkpoint_(&checkpoint), scope_(scope) {}

  /// The same file, another object in it.
  [[nodiscard]] ConfigReader inside(JsonValue scope) const { return {*checkpoint_, scope}; }
  [[nodiscard]] JsonValue scope() const noexcept { return scope_; }
  /// Of the file, for messages.
  [[nodiscard]] std::string path() const { return checkpoint_->config_path().string(); }
  /// Whether the key is there with the value null.
  [[nodiscard]] bool is_null(std::string_view key) const;

  /// Value of the first of the keys that is there; a null counts as not there.
  /// \throws Error  kFormat if it is of another kind, not finite or not positive.
  [[nodiscard]] std::optional<double> positive(const std::vector<std::string>& keys) const;
  [[nodiscard]] std::optional<std::size_t> size(const std::vector<std::string>& keys) const;
  [[nodiscard]] std::optional<bool> boolean(std::string_view key) const;
  [[nodiscard]] std::optional<std::string_view> word(const std::vector<std::string>& keys) const;
  /// A list of positive numbers.
  [[nodiscard]] std::vector<double> numbers(std::string_view key) const;

  [[noreturn]] void malformed(const std::string& what) const;
  [[noreturn]] void unsupported(const std::string& what) const;

 private:
  [[nodiscard]] JsonValue first(const std::vector<std::string>& keys, std::string& found) const;

  const Checkpoint* checkpoint_;
  JsonValue scope_;
};

}  // namespace headscope
