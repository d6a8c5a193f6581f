#pragma once

#include <cstddef>

#include "headscope/model/network.h"
#include "model/network/block_source.h"

namespace headscope {

/// Resolves the MLP of a layer, or its mixture of experts. `stored` is the layer's number in the file.
void resolve_mlp(const BlockSource& block, std::size_t stored, NetworkLayer& into);

}  // namespace headscope
