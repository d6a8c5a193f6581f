#pragma once

#include <cstddef>

#include "headscope/io/dtype.h"

namespace headscope {

/// Singular values of a d x h head below this fraction of the largest do not count.
///
/// max(d, h) * epsilon for weights stored in 32 bits or more. For narrower types
/// that bound would exceed 1 at the width of real models (4096 * 2^-7 = 32 for
/// BF16) and leave no head any rank; there it is half the type's epsilon, just
/// above what rounding a matrix of lower rank to the type adds to its spectrum
/// (epsilon / sqrt(12) * (1 + sqrt(h / d)) for entries of one size). Block-quantized types count as BF16.
[[nodiscard]] double rank_tolerance(DType stored, std::size_t d, std::size_t h) noexcept;

}  // namespace headscope
