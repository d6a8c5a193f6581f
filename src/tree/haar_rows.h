#pragma once

#include <cstddef>
#include <span>

#include "headscope/tree/haar.h"

namespace headscope {

/// `width` of the rows below is a multiple of this many numbers.
inline constexpr std::size_t kHaarWidthUnit = 16;

/// Applies the reflections, in their order or backwards, to the rows of an array [n, width]: row i of the array stands
/// at position i.
void reflect_rows(float* rows, std::size_t width, std::span<const HaarBasis::Reflection> reflections, bool backwards);
void reflect_rows(double* rows, std::size_t width, std::span<const HaarBasis::Reflection> reflections, bool backwards);

/// Sum of magnitudes, each row in float and the sum of rows in double.
[[nodiscard]] double sum_of_magnitudes(const float* rows, std::size_t n, std::size_t width);

}  // namespace headscope
