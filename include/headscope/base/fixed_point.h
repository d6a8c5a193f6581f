#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace headscope {

/// Numbers as 64-bit integers, for sums that are to be the same in whatever order and parts they are added up: integers
/// add exactly. The unit is a power of two, so that only digits below it are lost, 2^-60 of what a sum may reach.
class FixedPoint {
 public:
  /// For sums of magnitudes up to `bound`.
  explicit FixedPoint(double bound) noexcept {
    int exponent = 0;
    if (std::isfinite(bound)) std::frexp(bound, &exponent);
    scale_ = std::ldexp(1.0, std::min(kBits - exponent, 1000));
  }

  /// What a number is multiplied with before it is rounded.
  [[nodiscard]] double scale() const noexcept { return scale_; }
  [[nodiscard]] double value(std::int64_t integer) const noexcept { return static_cast<double>(integer) / scale_; }

 private:
  static constexpr int kBits = 60;

  double scale_;
};

}  // namespace headscope
