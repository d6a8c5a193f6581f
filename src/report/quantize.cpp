#include "report/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headscope::report {

Quantized quantize(std::span<const float> values, int bits, int power) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, static_cast<double>(value));
    high = std::max(high, static_cast<double>(value));
  }
  if (low > high) low = high = 0;
  const unsigned missing = (1U << bits) - 1;
  const double steps = missing - 1;
  const double span = high > low ? high - low : 1;
  const auto width = static_cast<std::size_t>(bits / 8);
  Quantized result{std::vector<std::byte>(values.size() * width), low, high};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double share = std::clamp((values[i] - low) / span, 0.0, 1.0);
    const unsigned code = std::isfinite(values[i])
                              ? static_cast<unsigned>(std::lround((power == 2 ? std::sqrt(share) : share) * steps))
                              : missing;
    result.bytes[i * width] = static_cast<std::byte>(code & 255U);
    if (width == 2) result.bytes[i * width + 1] = static_cast<std::byte>(code >> 8);
  }
  return result;
}

}  // namespace headscope::report
