#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/base/error.h"
#include "headscope/image/preprocess.h"
#include "headscope/io/json.h"

namespace headscope {

/// Reads checked values from one JSON object. A key that is missing or null gives an empty result; a value of a wrong
/// type throws an Error of kind kFormat that names the key.
class PreprocessConfigReader {
 public:
  /// Maximum edge length; no vision model takes larger images.
  static constexpr std::size_t kMaxEdgeLength = 4096;

  PreprocessConfigReader(JsonValue object, std::string_view where);

  [[nodiscard]] std::optional<bool> flag(std::string_view key) const;
  [[nodiscard]] std::optional<std::string> text(std::string_view key) const;
  /// A finite number above 0.
  [[nodiscard]] std::optional<double> positive(std::string_view key) const;
  /// One number per channel; a single number applies to all channels. Must be finite and in the range of float.
  [[nodiscard]] std::optional<std::vector<float>> per_channel(std::string_view key, std::size_t channels) const;
  /// Same, but numbers below 1e-12 in magnitude are rejected.
  [[nodiscard]] std::optional<std::vector<float>> divisors(std::string_view key, std::size_t channels) const;

  /// Returns `value` as an edge length; messages call it `name`.
  [[nodiscard]] std::size_t edge(JsonValue value, std::string_view name) const;
  [[nodiscard]] JsonValue find(std::string_view key) const noexcept { return object_.find(key); }

  [[noreturn]] void fail(const std::string& what, ErrorKind kind = ErrorKind::kFormat) const;

 private:
  JsonValue object_;
  std::string where_;
};

/// Returns the number of channels the model takes: 3 unless config.json says otherwise.
/// \throws Error  kFormat if it is not a number, kUnsupported if it is neither 1 nor 3.
[[nodiscard]] std::size_t channels_of(JsonValue config, std::string_view where);

/// Returns `values` for that many channels. Statistics that are the same for every channel fit any number; others only
/// their own.
/// \throws Error  kFormat if they do not fit.
[[nodiscard]] std::vector<float> default_per_channel(const std::vector<float>& values, std::size_t channels,
                                                     std::string_view key, const PreprocessConfigReader& reader);

}  // namespace headscope
