#pragma once

#include "headscope/model/network.h"
#include "model/network/block_source.h"

namespace headscope {

/// Resolves how tokens, patches or frames of audio enter the stream of a block.
[[nodiscard]] NetworkInput resolve_input(const BlockSource& block);

}  // namespace headscope
