#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/tree/partition_tree.h"

namespace headscope {

/// Returns the partition of a level as the class index of each element.
[[nodiscard]] std::vector<std::size_t> classes_of_level(const PartitionTree& tree, std::size_t level);

/// Computes the adjusted Rand index of two partitions of the same elements (Hubert and Arabie 1985): 1 if they are
/// equal, 0 on average over random partitions with the same class sizes. It is 1 if both consist of single elements or
/// both of one class, and 0 if that holds for only one of them. O(n log n).
///
/// \throws Error  kInvalidArgument if they differ in size.
[[nodiscard]] double adjusted_rand_index(std::span<const std::size_t> a, std::span<const std::size_t> b);

/// The agreement of two levels of two trees.
struct LevelAgreement {
  std::size_t level_a = 0;
  std::size_t level_b = 0;
  std::size_t folders_a = 0;
  std::size_t folders_b = 0;
  double rand_index = 0;
};

/// Compares every level of `a` except root and leaves with the level of `b` (neither root nor leaves) whose number of
/// folders is nearest by ratio; if two are equally near, with the coarser one. Empty if one of the trees has no such
/// level.
///
/// \throws Error  kInvalidArgument if they differ in size.
[[nodiscard]] std::vector<LevelAgreement> level_agreements(const PartitionTree& a, const PartitionTree& b);

/// Computes the Pearson correlation, over all pairs of elements, of the cophenetic distances in two trees: the fraction
/// of the elements in the smallest folder that contains both (Sokal and Rohlf 1962, with volumes as heights). NaN if
/// all pairs of one tree are at the same distance. O(n^2).
///
/// \throws Error  kInvalidArgument if they differ in size.
[[nodiscard]] double cophenetic_correlation(const PartitionTree& a, const PartitionTree& b);

/// Computes the Pearson correlation of two symmetric matrices over the entries above the diagonal. NaN if one of them
/// is constant there.
///
/// \throws Error  kInvalidArgument if they differ in size.
[[nodiscard]] double affinity_correlation(const DoubleMatrix& a, const DoubleMatrix& b);

/// Returns a tree of the same shape with its elements in random order: the control for what a tree contributes. Depends
/// only on the seed and the stream.
[[nodiscard]] PartitionTree shuffled(const PartitionTree& tree, std::uint64_t seed, std::uint64_t stream = 0);

}  // namespace headscope
