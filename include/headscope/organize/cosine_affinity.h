#pragma once

#include "headscope/base/matrix.h"
#include "headscope/organize/tensor_share.h"

namespace headscope {

/// Where the questionnaire begins: cosines between the slices of a tensor along the axis of queries or that of keys,
/// taken as vectors, over the entries that are present in both, floored at 0:
///
///     A(s, t) = max(0, sum x_s x_t / sqrt(sum x_s^2 sum x_t^2)).
///
/// Where a sum of squares is zero there is no cosine: A is then 0, and 1 on the diagonal. Symmetric, in [0, 1].
///
/// Ranks each add up products of their own heads; all of them call it and get the bits that one rank alone would have.
///
/// Cost: matrix products of 2 n^2 * (size / n) flops in float; twice that if heads have masks of their own.
[[nodiscard]] DoubleMatrix cosine_affinity(const TensorShare& share, TensorAxis axis);

}  // namespace headscope
