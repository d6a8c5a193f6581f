#pragma once

#include <cstddef>

#include "headscope/model/network.h"
#include "model/network/block_source.h"

namespace headscope {

/// Resolves the windows of patches that a layer attends within, the bias of its scores there, and factors on scores
/// that are cosines. Leaves layers of other families alone.
void resolve_windows(const BlockSource& block, std::size_t layer, NetworkLayer& into);

}  // namespace headscope
