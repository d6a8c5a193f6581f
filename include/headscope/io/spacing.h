#pragma once

#include <cstddef>
#include <span>

#include "headscope/io/dtype.h"

namespace headscope {

/// Returns whether `find_spacings` supports the type: decodable types of less than 32 bits per element.
[[nodiscard]] bool has_spacings(DType dtype) noexcept;

/// Writes the distance between neighboring values of the stored type at each element: what rounding to the type may
/// have moved the element by, up to half of it. For F16, BF16 and FP8 this is the unit in the last place of `decoded`
/// (the smallest subnormal number for zero); for block formats the step of the element's block or group, 0 if all of
/// its elements are equal; for MXFP4, whose numbers are not evenly spaced, that of `CodeBook` times the block's scale.
/// `decoded` is the output of `decode` for the same blocks, before FP8 factors are applied.
///
/// Spacings of BF16 below 2^-126 are raised to 2^-126. Cost: one pass.
///
/// \throws Error  kUnsupported if `has_spacings` is false, kInvalidArgument if the sizes do not match.
void find_spacings(DType dtype, std::span<const std::byte> blocks, std::span<const float> decoded,
                   std::span<float> spacings);

}  // namespace headscope
