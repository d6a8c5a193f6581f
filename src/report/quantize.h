#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headscope::report {

/// Numbers as small integers: value = low + (high - low) * (code / (2^bits - 2))^power. The code of all ones stands
/// for "not there" (NaN and infinities).
struct Quantized {
  std::vector<std::byte> bytes;  ///< Little-endian, 1 or 2 a number.
  double low = 0;
  double high = 0;
};

/// `bits` is 8 or 16. A power of 2 spends codes on small values: half of them on the lowest quarter.
/// The error is at most (high - low) / (2^bits - 2) * power / 2.
[[nodiscard]] Quantized quantize(std::span<const float> values, int bits, int power = 1);

}  // namespace headscope::report
