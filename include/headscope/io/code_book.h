#pragma once

#include <array>
#include <span>

namespace headscope {

/// The numbers that codes of 4 bits stand for, in arbitrary order, and the step at each.
///
/// The step is that of a uniform type whose rounding errors have the same mean square. If l and r are the distances to
/// the neighboring numbers, rounding to this one moves a number by up to l / 2 down or r / 2 up, with mean square
/// (l^3 + r^3) / (12 (l + r)); the step is the square root of 12 times that. The smallest and the largest number have
/// one neighbor.
struct CodeBook {
  std::array<float, 16> values = {};
  std::array<float, 16> steps = {};
};

/// Computes the steps. `values` must be finite; equal numbers count once.
[[nodiscard]] CodeBook make_code_book(std::span<const float, 16> values);

/// FP4 E2M1 as in MXFP4: 0, 0.5, 1, 1.5, 2, 3, 4, 6, then the same with a minus sign.
[[nodiscard]] const CodeBook& e2m1_code_book();

/// Returns the factor 2^(exponent - 127) of a block of MXFP4 (E8M0); 255 gives NaN.
[[nodiscard]] float e8m0_factor(unsigned exponent) noexcept;

}  // namespace headscope
