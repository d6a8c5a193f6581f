#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace headscope {

/// Represents numbers as 64-bit integers, for sums that must not depend on the order or grouping of the terms: integer
/// addition is exact. The unit is a power of two, so only digits below it are lost, 2^-60 of the largest possible sum.
class FixedPoint {
 public:
  /// For sums whose magnitude is at most `bound`.
  explicit FixedPoint(double bound) noexcept {
    int exponent = 0;
    if (std::isfinite(bound)) std::frexp(bound, &exponent);
    scale_ = std::ldexp(1.0, std::min(kBits - exponent, 1000));
  }

  /// Factor by which a number is multiplied before it is rounded.
  [[nodiscard]] double scale() const noexcept { return scale_; }
  [[nodiscard]] double value(std::int64_t integer) const noexcept { return static_cast<double>(integer) / scale_; }

 private:
  static constexpr int kBits = 60;

  double scale_;
};

}  // namespace headscope
