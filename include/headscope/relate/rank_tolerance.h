#pragma once

#include <cstddef>

#include "headscope/io/dtype.h"

namespace headscope {

/// Returns the fraction of the largest singular value of a d x h head below which singular values count as zero:
/// max(d, h) * epsilon, the error of computing them, for weights stored in 32 bits or more; F64 weights are rounded to
/// float when read. The rounding of such weights is below it (at most 0.7 epsilon times the largest singular value).
///
/// 0 for narrower types: there, the noise of storing the weights decides, which depends on the weights themselves
/// (`HeadWeights::noise`). A fraction by type alone cannot work: max(d, h) * epsilon is 32 for BF16 at a width of 4096,
/// and half an epsilon, which is safe for BF16, gives heads of rank 32 stored as Q4_0 the rank 64.
[[nodiscard]] double rank_tolerance(DType stored, std::size_t d, std::size_t h) noexcept;

}  // namespace headscope
