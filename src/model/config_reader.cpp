#include "model/config_reader.h"

#include <fmt/format.h>

#include <cmath>

#include "headscope/base/error.h"

namespace headscope {

JsonValue find_path(JsonValue scope, std::string_view path) {
  const std::size_t dot = path.find('.');
  return dot == std::string_view::npos ? scope.find(path) : scope.find(path.substr(0, dot)).find(path.substr(dot + 1));
}

void ConfigReader::malformed(const std::string& what) const {
  throw Error(ErrorKind::kFormat, fmt::format("{}: {}", checkpoint_->config_path().string(), what));
}

void ConfigReader::unsupported(const std::string& what) const {
  throw Error(ErrorKind::kUnsupported, fmt::format("{}: {}; headscope cannot run this model, but relate works",
                                                   checkpoint_->config_path().string(), what));
}

bool ConfigReader::is_null(std::string_view key) const {
  bool found = false;
  for (const auto& [name, value] : scope_.members()) {
    if (name == key) found = value.is_null();
  }
  return found;
}

JsonValue ConfigReader::first(const std::vector<std::string>& keys, std::string& found) const {
  for (const std::string& key : keys) {
    if (const JsonValue value = find_path(scope_, key); !value.is_null()) {
      found = key;
      return value;
    }
  }
  return {};
}

std::optional<double> ConfigReader::positive(const std::vector<std::string>& keys) const {
  std::string key;
  const JsonValue value = first(keys, key);
  if (value.is_null()) return std::nullopt;
  const auto number = value.as_number();
  if (!number || !std::isfinite(*number) || *number <= 0) {
    malformed(fmt::format("'{}' is {}, expected a positive number", key, number ? fmt::format("{}", *number) : "none"));
  }
  return number;
}

std::optional<std::size_t> ConfigReader::size(const std::vector<std::string>& keys) const {
  std::string key;
  const JsonValue value = first(keys, key);
  if (value.is_null()) return std::nullopt;
  constexpr std::uint64_t kMax = 1'000'000'000;
  const auto number = value.as_unsigned();
  if (!number || *number > kMax) {
    malformed(fmt::format("'{}' is {}, expected an integer from 0 to {}", key,
                          number ? std::to_string(*number) : "not an integer", kMax));
  }
  return static_cast<std::size_t>(*number);
}

std::optional<bool> ConfigReader::boolean(std::string_view key) const {
  const JsonValue value = scope_.find(key);
  if (value.is_null()) return std::nullopt;
  const auto answer = value.as_bool();
  if (!answer) malformed(fmt::format("'{}' is neither true nor false", key));
  return answer;
}

std::optional<std::string_view> ConfigReader::word(const std::vector<std::string>& keys) const {
  std::string key;
  const JsonValue value = first(keys, key);
  if (value.is_null()) return std::nullopt;
  const auto text = value.as_string();
  if (!text) malformed(fmt::format("'{}' is not a string", key));
  return text;
}

std::vector<double> ConfigReader::numbers(std::string_view key) const {
  std::vector<double> all;
  for (const JsonValue item : scope_.find(key).items()) {
    const double number = item.as_number().value_or(0);
    if (!std::isfinite(number) || number <= 0) {
      malformed(fmt::format("'{}' holds something other than positive numbers", key));
    }
    all.push_back(number);
  }
  return all;
}

}  // namespace headscope
