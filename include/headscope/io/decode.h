#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "headscope/io/dtype.h"

namespace headscope {

/// Decodes stored elements to floats. `blocks` contains whole blocks of `dtype`, and `out` has exactly as many
/// elements. F64 is rounded to nearest.
///
/// The result is bitwise independent of the SIMD width. Cost: one pass over both.
///
/// \throws Error  kUnsupported if the type is not decodable (see `DTypeInfo`), kInvalidArgument if the sizes do not
///                match.
void decode(DType dtype, std::span<const std::byte> blocks, std::span<float> out);

/// Returns the index of the first NaN or infinity, if there is one.
[[nodiscard]] std::optional<std::size_t> find_non_finite(std::span<const float> values);

}  // namespace headscope
