#pragma once

#include <cstddef>
#include <optional>

#include "headscope/base/ranks.h"
#include "headscope/tree/partition_tree.h"

namespace headscope {

/// The tree that rank `maker` has made, on every rank. Were each to make it by itself, processors of different kinds,
/// which round differently, could disagree on it, and nothing that ranks share would fit together.
[[nodiscard]] PartitionTree shared_tree(Ranks& ranks, std::size_t maker, const std::optional<PartitionTree>& made);

}  // namespace headscope
