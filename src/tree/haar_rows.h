#pragma once

#include <cstddef>
#include <span>

#include "headscope/tree/haar.h"

namespace headscope {

/// `width` of the functions below must be a multiple of this.
inline constexpr std::size_t kHaarWidthUnit = 16;

/// Applies the reflections, in order or in reverse, to the rows of an array [n, width]: row i of the array is position
/// i.
void reflect_rows(float* rows, std::size_t width, std::span<const HaarBasis::Reflection> reflections, bool backwards);
void reflect_rows(double* rows, std::size_t width, std::span<const HaarBasis::Reflection> reflections, bool backwards);

/// Returns the sum of magnitudes; each row is summed in float, the rows in double.
[[nodiscard]] double sum_of_magnitudes(const float* rows, std::size_t n, std::size_t width);

}  // namespace headscope
