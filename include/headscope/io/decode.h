#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "headscope/io/dtype.h"

namespace headscope {

/// Turns stored elements into floats: `blocks` holds whole blocks of `dtype`,
/// `out` has room for exactly their elements. F64 is rounded to nearest.
///
/// Every SIMD width gives the same bits. Cost: one pass over both.
///
/// \throws Error  kUnsupported if the type is not decodable (see `DTypeInfo`),
///                kInvalidArgument if the sizes do not fit.
void decode(DType dtype, std::span<const std::byte> blocks, std::span<float> out);

/// Index of the first NaN or infinity, if there is one.
[[nodiscard]] std::optional<std::size_t> find_non_finite(std::span<const float> values);

}  // namespace headscope
