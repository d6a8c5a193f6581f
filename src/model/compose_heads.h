#pragma once

#include <span>
#include <vector>

#include "headscope/io/checkpoint.h"
#include "headscope/model/head_map.h"
#include "model/fold.h"
#include "model/read_heads.h"

namespace headscope {

/// Composes the matrices of heads that read a latent: A^T diag(g) B_a^T as in `LatentFactor`, with `fold` applied to
/// the side of the stream. The requests locate the second factors B; all must be of the same tensor, and their own
/// factors are not used. Each of the two tensors is read once.
///
/// The product is computed in float on all threads: 2 rank d_model width flops per head. Besides the result this takes
/// the two factors as floats. The error of each element is about rank * 2^-24 times the sum of its terms' magnitudes.
///
/// Noise: rounding errors dA and dB change the matrix by dA^T diag(g) B^T + A^T diag(g) dB^T. Its norm is at most
/// |dA| |diag(g) B| + |A| |diag(g) dB|, with the bounds of `StorageNoise` for the errors. On random factors this is
/// about 1.15 times the norm found.
///
/// \throws Error  kNumeric if a weight is NaN or infinite; the message gives its index.
[[nodiscard]] std::vector<ReadHeads> compose_heads(const Checkpoint& checkpoint, const LatentFactor& latent,
                                                   std::span<HeadRequest> requests, const Fold& fold);

}  // namespace headscope
