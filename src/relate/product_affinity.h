#pragma once

#include <span>

#include "headscope/relate/affinity.h"

namespace headscope {

/// Fills the results, whose metric (the same for all) and pair are set, for metrics that are norms of products.
void compute_product_affinities(const Model& model, const AffinityOptions& options, const Context& context,
                                FinishedBlocks* finished, std::span<Affinities> results);

}  // namespace headscope
