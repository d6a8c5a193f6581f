#pragma once

#include "headscope/base/matrix.h"
#include "headscope/organize/tensor_share.h"

namespace headscope {

/// Computes the initial affinity of the questionnaire: cosines between the slices of a tensor along the query or key
/// axis, as vectors, over the entries present in both, clamped at 0:
///
///     A(s, t) = max(0, sum x_s x_t / sqrt(sum x_s^2 sum x_t^2)).
///
/// If either sum of squares is zero, the cosine is undefined and A is 0; the diagonal is always 1. Symmetric, in [0,
/// 1].
///
/// Collective: each rank sums the products of its own heads. Every rank gets the same bits as a single-rank run.
///
/// Cost: matrix products of 2 n^2 * (size / n) flops in float; twice that if each head has its own mask.
[[nodiscard]] DoubleMatrix cosine_affinity(const TensorShare& share, TensorAxis axis);

}  // namespace headscope
