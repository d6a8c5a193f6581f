#pragma once

#include <cstddef>

#include "forward/head_columns.h"
#include "headscope/base/buffer.h"
#include "headscope/io/checkpoint.h"
#include "headscope/model/head_sizes.h"
#include "headscope/model/network.h"

namespace headscope {

/// Computes the queries, keys and values of latent attention from the normalized stream: the latents, their norms, and
/// from these the heads. The key of a head is its own, followed by the rotary key that all heads share, not yet
/// rotated.
[[nodiscard]] LayerHeads project_latent(const Checkpoint& checkpoint, const NetworkLayer& layer, const HeadSizes& sizes,
                                        MatrixView x, Buffer<float>& scratch);

/// Floats per token that `project_latent` needs.
[[nodiscard]] std::size_t latent_width(const NetworkLayer& layer, const HeadSizes& sizes);

}  // namespace headscope
