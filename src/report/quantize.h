#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headscope::report {

/// Numbers as small integers: value = low + (high - low) * (code / (2^bits - 2))^power. The code with all bits set
/// means "missing" (NaN and infinities).
struct Quantized {
  std::vector<std::byte> bytes;  ///< Little-endian, 1 or 2 bytes per number.
  double low = 0;
  double high = 0;
};

/// `bits` is 8 or 16. A power of 2 gives small values more codes: half of them for the lowest quarter of the range. The
/// error is at most (high - low) / (2^bits - 2) * power / 2.
[[nodiscard]] Quantized quantize(std::span<const float> values, int bits, int power = 1);

}  // namespace headscope::report
