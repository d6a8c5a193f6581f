#pragma once

#include <cstddef>
#include <span>

#include "headscope/model/rotary.h"

namespace headscope {

/// Replaces a Gram matrix M by the mean of R M R^T over all relative positions, where R rotates each pair of components
/// by its frequency times the position. `gram` is the upper triangle of an h x h matrix, column-major.
///
/// Let M_kl be the 2 x 2 block of pairs k and l. R_k M_kl R_l^T turns with the difference and the sum of their
/// frequencies, so its mean over a long range is zero unless k = l. Of M_kk, the trace and the antisymmetric part do
/// not turn; a Gram matrix has no antisymmetric part, so tr(M_kk) / 2 times the identity remains. Between components
/// that are rotated and those that are not, the mean is zero; among the latter, M stays. The amplitude of
/// the rotation multiplies queries and keys, hence M by its fourth power.
///
/// Frequencies are taken to be distinct and the range of positions long. Pairs that turn slowly (10^-4 per token)
/// average out only over tens of thousands of tokens.
void average_rotations(std::span<double> gram, std::size_t h, const Rotary& rotary);

/// As `multiply_by_gram_root`, with the average: out = A L, where L L^T is the mean of R B^T B R^T. Then
/// ||out^T W||_F^2 is the mean of ||B R^T A^T W||_F^2 for every W.
///
/// \throws Error  kNumeric if B contains a NaN or an infinity.
void multiply_by_rotary_root(std::span<const float> a, std::span<const float> b, std::size_t d, std::size_t h,
                             const Rotary& rotary, std::span<float> out);

}  // namespace headscope
