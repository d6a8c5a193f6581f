#pragma once

#include <vector>

#include "headscope/model/model.h"
#include "headscope/relate/affinity.h"

namespace headscope {

// Scores of query heads computed from the weights alone: one number per head, in layer order.

/// Returns ||O V^T||_F for each query head, where V belongs to the KV head it reads through and both are folded: how
/// strongly the head can write what it reads. Computed from h x h Gram matrices: ||O V^T||_F^2 = tr(O^T O V^T V).
/// Cost: O(d h^2) per head.
/// \throws Error  as `Model::load_heads`.
[[nodiscard]] std::vector<double> output_value_norms(const Model& model);

/// Returns, for each query head, the sum of z under the isotropic null over all its edges (projection kernel; OQ, OK
/// and OV; from earlier to later layers) with q below 0.05: its strength in the head graph (PK, arXiv 2601.10266) if
/// only the other edges are dropped. This ranks heads, and claims nothing about single edges: with the matched null,
/// which is right for those, half of the heads of models/demo cost 0.91 nats instead of 0.22. With grouped queries, a
/// query head has the edges of the KV head it reads through. What counts against the memory budget is as in
/// `compute_affinities`. Not collective: the calling rank does all the work.
/// \throws Error  kUnsupported if the model has a single layer; otherwise as `compute_affinities`.
[[nodiscard]] std::vector<double> pk_strengths(const Model& model, const AffinityOptions& options = {},
                                               const Context& context = {});

}  // namespace headscope
