#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/base/error.h"
#include "headscope/capture/preprocess.h"
#include "headscope/io/json.h"

namespace headscope {

/// Reads checked values out of one JSON object. A key that is absent or null reads as nothing, a
/// value of a wrong type is an Error of kind kFormat that names the key.
class PreprocessConfigReader {
 public:
  /// Longer edges are refused: no vision model takes images of this size.
  static constexpr std::size_t kLongestEdge = 4096;

  PreprocessConfigReader(JsonValue object, std::string_view where);

  [[nodiscard]] std::optional<bool> flag(std::string_view key) const;
  [[nodiscard]] std::optional<std::string> text(std::string_view key) const;
  /// A finite number above 0.
  [[nodiscard]] std::optional<double> positive(std::string_view key) const;
  /// A number for each channel; one alone counts for all of them. Finite, and within what a float holds.
  [[nodiscard]] std::optional<std::vector<float>> per_channel(std::string_view key, std::size_t channels) const;
  /// The same, and none of them 0.
  [[nodiscard]] std::optional<std::vector<float>> divisors(std::string_view key, std::size_t channels) const;

  /// `value` as the length of an edge, which messages call `name`.
  [[nodiscard]] std::size_t edge(JsonValue value, std::string_view name) const;
  [[nodiscard]] JsonValue find(std::string_view key) const noexcept { return object_.find(key); }

  [[noreturn]] void fail(const std::string& what, ErrorKind kind = ErrorKind::kFormat) const;

 private:
  JsonValue object_;
  std::string where_;
};

/// How many channels the model takes: 3 unless config.json says otherwise.
/// \throws Error  kFormat if it is not a number, kUnsupported if it is neither 1 nor 3.
[[nodiscard]] std::size_t channels_of(JsonValue config, std::string_view where);

/// Statistics that hold for every channel do for any number of them; others only for three.
/// \throws Error  kFormat if they do not fit.
[[nodiscard]] std::vector<float> default_per_channel(const std::vector<float>& values, std::size_t channels,
                                                     std::string_view key, const PreprocessConfigReader& reader);

}  // namespace headscope
