#pragma once

#include <cstddef>

#include "headscope/model/network.h"
#include "model/network/block_source.h"

namespace headscope {

/// Resolves one layer of a block. `in` is what the block reads.
[[nodiscard]] NetworkLayer resolve_layer(const BlockSource& block, const NetworkInput& in, std::size_t layer);

}  // namespace headscope
