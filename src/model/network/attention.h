#pragma once

#include <cstddef>

#include "headscope/model/network.h"
#include "model/network/block_source.h"

namespace headscope {

/// Resolves the attention of a layer: projections, latents, the norms of queries, keys and values, and sinks.
void resolve_attention(const BlockSource& block, std::size_t layer, NetworkLayer& into);

}  // namespace headscope
