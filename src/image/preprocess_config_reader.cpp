#include "image/preprocess_config_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace headscope {
namespace {

bool fits_float(double value) {
  return std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max());
}

std::size_t checked_channels(JsonValue value, std::string_view where) {
  const auto channels = value.as_unsigned();
  if (!channels) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: the number of channels is not a non-negative integer", where));
  }
  if (*channels != 1 && *channels != 3) {
    throw Error(ErrorKind::kUnsupported, fmt::format("{}: the model takes images of {} channels, expected 1 or 3; pass "
                                                     "them with --pixels",
                                                     where, *channels));
  }
  return static_cast<std::size_t>(*channels);
}

}  // namespace

PreprocessConfigReader::PreprocessConfigReader(JsonValue object, std::string_view where)
    : object_(object), where_(where) {
  if (!object.is_object()) fail("is not a JSON object");
}

void PreprocessConfigReader::fail(const std::string& what, ErrorKind kind) const {
  throw Error(kind, fmt::format("{}: {}", where_, what));
}

std::optional<bool> PreprocessConfigReader::flag(std::string_view key) const {
  const JsonValue value = find(key);
  if (value.is_null()) return std::nullopt;
  if (!value.as_bool()) fail(fmt::format("'{}' is neither true nor false", key));
  return value.as_bool();
}

std::optional<std::string> PreprocessConfigReader::text(std::string_view key) const {
  const JsonValue value = find(key);
  if (value.is_null()) return std::nullopt;
  if (!value.as_string()) fail(fmt::format("'{}' is not a string", key));
  return std::string(*value.as_string());
}

std::optional<double> PreprocessConfigReader::positive(std::string_view key) const {
  const JsonValue value = find(key);
  if (value.is_null()) return std::nullopt;
  const auto number = value.as_number();
  if (!number || !(*number > 0) || !fits_float(*number)) fail(fmt::format("'{}' is not a positive number", key));
  return number;
}

std::optional<std::vector<float>> PreprocessConfigReader::per_channel(std::string_view key,
                                                                      std::size_t channels) const {
  const JsonValue value = find(key);
  if (value.is_null()) return std::nullopt;
  std::vector<float> numbers;
  const auto add = [&](JsonValue item) {
    const auto number = item.as_number();
    if (!number || !fits_float(*number)) fail(fmt::format("'{}' is not a list of {} finite numbers", key, channels));
    numbers.push_back(static_cast<float>(*number));
  };
  if (value.is_array()) {
    for (const JsonValue item : value.items()) add(item);
  } else {
    add(value);
  }
  if (numbers.size() == 1) numbers.resize(channels, numbers.front());
  if (numbers.size() != channels) {
    fail(
        fmt::format("'{}' holds {} numbers, but the model takes images of {} channels", key, numbers.size(), channels));
  }
  return numbers;
}

std::optional<std::vector<float>> PreprocessConfigReader::divisors(std::string_view key, std::size_t channels) const {
  auto numbers = per_channel(key, channels);
  if (numbers && std::ranges::any_of(*numbers, [](float v) { return std::abs(v) < 1e-12F; })) {
    fail(fmt::format("'{}' holds a number that is 0 or close to it, expected divisors", key));
  }
  return numbers;
}

std::size_t PreprocessConfigReader::edge(JsonValue value, std::string_view name) const {
  const auto length = value.as_unsigned();
  if (!length || *length == 0 || *length > kMaxEdgeLength) {
    fail(fmt::format("'{}' is {}, expected an integer from 1 to {}", name,
                     length ? std::to_string(*length) : "not an integer", kMaxEdgeLength));
  }
  return static_cast<std::size_t>(*length);
}

std::size_t channels_of(JsonValue config, std::string_view where) {
  for (const JsonValue scope : {config, config.find("vision_config")}) {
    if (const JsonValue value = scope.find("num_channels"); !value.is_null()) return checked_channels(value, where);
  }
  if (const JsonValue timm = config.find("pretrained_cfg").find("input_size"); timm.size() == 3) {
    return checked_channels(*timm.items().begin(), where);
  }
  return 3;
}

std::vector<float> default_per_channel(const std::vector<float>& values, std::size_t channels, std::string_view key,
                                       const PreprocessConfigReader& reader) {
  if (values.size() == channels) return values;
  if (std::ranges::adjacent_find(values, std::ranges::not_equal_to()) == values.end()) {
    return std::vector<float>(channels, values.front());
  }
  reader.fail(
      fmt::format("lacks '{}'; its default is for 3 channels, but the model takes images of {}", key, channels));
}

}  // namespace headscope
