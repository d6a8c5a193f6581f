#pragma once

#include <cstddef>

#include "headscope/io/dtype.h"

namespace headscope {

/// Returns the fraction of the largest singular value of a d x h head below which singular values count as zero.
///
/// max(d, h) * epsilon for weights stored in 32 bits or more. For narrower types this bound would exceed 1 at the width
/// of real models (4096 * 2^-7 = 32 for BF16), so that every head would have rank 0. For these, half the epsilon of the
/// type is used, just above what rounding a lower-rank matrix to the type adds to its spectrum (epsilon / sqrt(12) * (1
/// + sqrt(h / d)) for entries of equal magnitude). Block-quantized types count as BF16.
[[nodiscard]] double rank_tolerance(DType stored, std::size_t d, std::size_t h) noexcept;

}  // namespace headscope
