#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/tree/partition_tree.h"

namespace headscope {

/// A partition as the class of each element.
[[nodiscard]] std::vector<std::size_t> classes_of_level(const PartitionTree& tree, std::size_t level);

/// The adjusted Rand index of two partitions of the same elements (Hubert and Arabie 1985): 1 if they are equal, 0 in
/// the mean over random ones of the same class sizes. Where both are all single elements, or both one class, it is 1;
/// where one of them is and the other is not, 0. O(n log n).
///
/// \throws Error  kInvalidArgument if they are not of the same size.
[[nodiscard]] double adjusted_rand_index(std::span<const std::size_t> a, std::span<const std::size_t> b);

/// How two levels of two trees agree.
struct LevelAgreement {
  std::size_t level_a = 0;
  std::size_t level_b = 0;
  std::size_t folders_a = 0;
  std::size_t folders_b = 0;
  double rand_index = 0;
};

/// Every level of `a` but the root and the leaves, beside the level of `b` (neither its root nor its leaves) with the
/// nearest number of folders, by ratio; of two equally near the coarser. Empty if a tree has no such level.
[[nodiscard]] std::vector<LevelAgreement> level_agreements(const PartitionTree& a, const PartitionTree& b);

/// The Pearson correlation, over all pairs of elements, of the cophenetic distances in two trees: the share of the
/// elements in the smallest folder that holds both (Sokal and Rohlf 1962, with volumes as heights). NaN where
/// one of the trees has all pairs at the same distance. O(n^2 levels).
///
/// \throws Error  kInvalidArgument if they are not of the same size.
[[nodiscard]] double cophenetic_correlation(const PartitionTree& a, const PartitionTree& b);

/// The Pearson correlation of two symmetric matrices over their entries above the diagonal. NaN where one of them is
/// constant there.
///
/// \throws Error  kInvalidArgument if they are not of the same size.
[[nodiscard]] double affinity_correlation(const DoubleMatrix& a, const DoubleMatrix& b);

/// The same shape on elements in random order: the control of what a tree is good for. Depends on the seed alone.
[[nodiscard]] PartitionTree shuffled(const PartitionTree& tree, std::uint64_t seed, std::uint64_t stream = 0);

}  // namespace headscope
