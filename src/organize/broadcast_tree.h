#pragma once

#include <cstddef>
#include <optional>

#include "headscope/base/ranks.h"
#include "headscope/tree/partition_tree.h"

namespace headscope {

/// Broadcasts the tree that rank `maker` built. If every rank built it, processors of different kinds, which round
/// differently, could build different trees, and the ranks' results would no longer fit together.
[[nodiscard]] PartitionTree broadcast_tree(Ranks& ranks, std::size_t maker, const std::optional<PartitionTree>& made);

}  // namespace headscope
