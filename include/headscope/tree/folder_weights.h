#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headscope/tree/partition_tree.h"

namespace headscope {

/// How much a folder counts in a tree distance: w_I = (|I| / n)^beta * 2^((1 - level) alpha), the root at level 1
/// (OA, arXiv 2506.15541).
struct FolderWeightOptions {
  double alpha = 0;  ///< Above 0 coarse folders count more.
  double beta = 1;   ///< Above 0 large folders count more.
};

/// A set of elements that is a folder of the tree on one or several levels.
struct WeightedFolder {
  std::size_t begin = 0;  ///< It holds order()[begin] up to, not including, order()[end] of its tree.
  std::size_t end = 0;
  std::size_t parent = 0;  ///< The smallest larger folder, by its place in the list; the root names itself.
  double weight = 0;       ///< Summed over the levels on which it stands.

  [[nodiscard]] std::size_t size() const noexcept { return end - begin; }
};

/// The distinct folders of a tree, leaves included, at most 2 n - 1 of them, every folder after all folders inside it
/// and of several children the largest first. Walking the list with one running sum for each folder that has been
/// begun and not finished therefore takes no more than log2(n) + 1 sums at a time.
///
/// \throws Error  kInvalidArgument if alpha or beta is not a finite number.
[[nodiscard]] std::vector<WeightedFolder> weighted_folders(const PartitionTree& tree,
                                                           const FolderWeightOptions& options = {});

/// What the weights of all folders add up to.
[[nodiscard]] double total_weight(std::span<const WeightedFolder> folders) noexcept;

}  // namespace headscope
