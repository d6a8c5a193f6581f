#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "forward/head_columns.h"
#include "headscope/base/buffer.h"
#include "headscope/io/checkpoint.h"
#include "headscope/model/head_sizes.h"
#include "headscope/model/network.h"

namespace headscope {

/// The map from what the branch reads to the latent of a role. The latent is the first `rank` outputs, normalized.
struct LatentMap {
  const StoredLinear* down;
  const StoredNorm* norm;  ///< An RMSNorm.
  std::size_t rank;
};
/// Nothing if the role reads no latent.
[[nodiscard]] std::optional<LatentMap> latent_map(const NetworkLayer& layer, Role role);

/// What the norm of a latent multiplies each token by, besides its gain, for rows x of what the branch reads.
[[nodiscard]] std::vector<float> latent_factors(const Checkpoint& checkpoint, const LatentMap& map, MatrixView x,
                                                Buffer<float>& scratch);

/// Computes the queries, keys and values of latent attention from the normalized stream: the latents, their norms, and
/// from these the heads. The key of a head is its own, followed by the rotary key that all heads share, not yet
/// rotated.
[[nodiscard]] LayerHeads project_latent(const Checkpoint& checkpoint, const NetworkLayer& layer, const HeadSizes& sizes,
                                        MatrixView x, Buffer<float>& scratch);

/// Floats per token that `project_latent` needs.
[[nodiscard]] std::size_t latent_width(const NetworkLayer& layer, const HeadSizes& sizes);

}  // namespace headscope
