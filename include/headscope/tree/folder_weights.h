#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headscope/tree/partition_tree.h"

namespace headscope {

/// The weight of a folder in a tree distance: w_I = (|I| / n)^beta * 2^((1 - level) alpha), with the root at level 1
/// (OA, arXiv 2506.15541).
struct FolderWeightOptions {
  double alpha = 0;  ///< If positive, coarse folders count more.
  double beta = 1;   ///< If positive, large folders count more.
};

/// A set of elements that is a folder of the tree on one or more levels.
struct WeightedFolder {
  std::size_t begin = 0;  ///< The folder is order()[begin] up to but not including order()[end] of its tree.
  std::size_t end = 0;
  std::size_t parent = 0;  ///< The smallest larger folder, as an index into the list; the root is its own parent.
  double weight = 0;       ///< Sum over the levels on which the folder occurs.

  [[nodiscard]] std::size_t size() const noexcept { return end - begin; }
};

/// Returns the distinct folders of a tree, leaves included, at most 2 n - 1. They are in post-order, with larger
/// children first, so a walk that keeps one running sum per unfinished folder needs at most log2(n) + 1 sums at a time.
///
/// \throws Error  kInvalidArgument if alpha or beta is not finite.
[[nodiscard]] std::vector<WeightedFolder> weighted_folders(const PartitionTree& tree,
                                                           const FolderWeightOptions& options = {});

/// Returns the sum of the weights of all folders.
[[nodiscard]] double total_weight(std::span<const WeightedFolder> folders) noexcept;

}  // namespace headscope
