#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headscope/tree/folder_weights.h"
#include "organize/l1_tile.h"

namespace headscope {

/// How the sums over the folders of a tree are made from its elements, as lists that are followed blindly for every
/// panel of slices.

/// Some consecutive folders of a list, each the sum of elements and of folders of the same block.
struct FolderBlock {
  std::size_t begin = 0;  ///< First folder, by its place in the list.
  std::size_t count = 0;
  std::vector<FolderStep> steps;
};
/// Blocks of at most `most` folders and of nearly the same size; which they are depends on the tree alone. Every
/// element is read once a block at most.
[[nodiscard]] std::vector<FolderBlock> folder_blocks(const PartitionTree& tree, std::span<const WeightedFolder> folders,
                                                     std::size_t most);

/// What to do with one folder when the list is walked with a stack of running sums.
struct FolderVisit {
  std::size_t element = 0;  ///< Of a leaf.
  bool leaf = false;        ///< Its sum is the element; else it is the top of the stack, complete by now.
  bool root = false;        ///< Has no parent to be added to.
  std::size_t slot = 0;     ///< Where in the stack its own sum stands, if it is no leaf.
  std::size_t into = 0;     ///< Where its parent's sum stands.
  bool first = false;       ///< It begins its parent's sum.
};
struct FolderWalk {
  std::vector<FolderVisit> visits;  ///< In the order of the list.
  std::size_t depth = 0;            ///< Sums that are open at a time, at most.
};
[[nodiscard]] FolderWalk folder_walk(const PartitionTree& tree, std::span<const WeightedFolder> folders);

}  // namespace headscope
