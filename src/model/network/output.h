#pragma once

#include "headscope/model/network.h"
#include "model/network/block_source.h"

namespace headscope {

/// Resolves how the stream of a block becomes the output. `in` is what the block reads.
[[nodiscard]] NetworkOutput resolve_output(const BlockSource& block, const NetworkInput& in);

}  // namespace headscope
