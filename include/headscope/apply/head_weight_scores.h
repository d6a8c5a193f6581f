#pragma once

#include <vector>

#include "headscope/model/model.h"
#include "headscope/relate/affinity.h"

namespace headscope {

// What weights alone say about query heads, layer by layer: one number a head.

/// ||O V^T||_F of a head's OV product, V that of the KV head it reads through, both folded: how much it can write for
/// what it reads. From h x h Gram matrices: ||O V^T||_F^2 = tr(O^T O V^T V). O(d h^2) a head.
/// \throws Error  as `Model::load_heads`.
[[nodiscard]] std::vector<double> output_value_norms(const Model& model);

/// The sum of z under the isotropic null over all edges of a head (projection kernel, OQ, OK and OV, earlier to later)
/// with q below `level`: its strength in the head graph (PK, arXiv 2601.10266) if no edge but those is left out. Under
/// grouped queries a query head has the edges of the KV head it reads through.
/// \throws Error  kUnsupported if the model has a single layer; as `compute_affinities` otherwise.
[[nodiscard]] std::vector<double> pk_strengths(const Model& model, const AffinityOptions& options = {},
                                               double level = 0.05);

}  // namespace headscope
