#pragma once

#include <cstddef>

#include "headscope/model/network.h"
#include "model/network/block_source.h"

namespace headscope {

// What positions add to the scores, as opposed to rotations of queries and keys.

/// Resolves the bias by head and distance that all layers share; empty if the block has none.
[[nodiscard]] ScoreBias resolve_bias(const BlockSource& block);
/// Resolves that of one layer; empty if layers have none of their own.
[[nodiscard]] ScoreBias resolve_bias(const BlockSource& block, std::size_t layer);

/// Resolves the relative positions that queries and keys are compared with; empty if the block has none.
[[nodiscard]] RelativePositions resolve_relative(const BlockSource& block);
/// Resolves what one layer does with them.
void resolve_relative(const BlockSource& block, std::size_t layer, NetworkLayer& into);

/// Finds the bias of a layer by distance in the grid of patches; nullptr if there is none. The table has a row for
/// every distance in rows and columns, and three for the class token.
[[nodiscard]] const StoredTensor* find_grid_bias(const BlockSource& block, const NetworkInput& in, std::size_t layer);

}  // namespace headscope
