#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headscope/tree/folder_weights.h"
#include "organize/l1_tile.h"

namespace headscope {

/// How to compute the sums over the folders of a tree from its elements, as instruction lists that are executed for
/// every panel of slices.

/// Consecutive folders of a list; each is a sum of elements and of earlier folders of the same block.
struct FolderBlock {
  std::size_t begin = 0;  ///< Index of the first folder in the list.
  std::size_t count = 0;
  std::vector<FolderStep> steps;
};
/// Splits the folders into blocks of at most `most` folders and nearly equal size. The blocks depend only on the tree.
/// Each element is read at most once per block.
[[nodiscard]] std::vector<FolderBlock> folder_blocks(const PartitionTree& tree, std::span<const WeightedFolder> folders,
                                                     std::size_t most);

/// What to do with one folder when the list is walked with a stack of partial sums.
struct FolderVisit {
  std::size_t element = 0;  ///< For a leaf.
  bool leaf = false;        ///< The sum is the element; otherwise it is the top of the stack, complete by now.
  bool root = false;        ///< There is no parent to add to.
  std::size_t slot = 0;     ///< Stack slot of its own sum, unless it is a leaf.
  std::size_t into = 0;     ///< Stack slot of its parent's sum.
  bool first = false;       ///< It is the first term of its parent's sum.
};
struct FolderWalk {
  std::vector<FolderVisit> visits;  ///< In list order.
  std::size_t depth = 0;            ///< Maximum number of partial sums at a time.
};
[[nodiscard]] FolderWalk folder_walk(const PartitionTree& tree, std::span<const WeightedFolder> folders);

}  // namespace headscope
