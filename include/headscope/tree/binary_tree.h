#pragma once

#include "headscope/base/matrix.h"
#include "headscope/tree/partition_tree.h"

namespace headscope {

struct BinaryTreeOptions {
  /// The larger side of a cut has at most this many times the elements of the smaller one, up to rounding: 1 halves
  /// every folder, infinity leaves the cut to the sign alone. At least 1.
  double balance = 3;
};

/// The binary tree of a symmetric, nonnegative n x n affinity, top-down (OA, arXiv 2506.15541).
///
/// A folder of m elements is cut by psi(i) = v_2(i) / v_1(i), v_2 the eigenvector of the largest eigenvalue next to
/// the first one of the Markov matrix of `flexible_tree`, made from the folder's own part of the affinity. Elements
/// with psi > 0 go to one side. If a side then has fewer than max(1, floor(m / (1 + balance))) elements, it
/// receives those with psi nearest to its own until it has, ties by index. Both sides are cut in turn; a single
/// element that is reached early stands in every later level too.
///
/// If the eigenvalue is multiple, psi is the projection of the indicator of one of the first elements onto
/// its eigenspace: of a graph with several components, one is cut off at a time. Elements whose rows are
/// zero within a folder, diagonal included, count as alike, and as a component of their own.
///
/// Cost: O(n^3) for the root, and for the whole tree as long as `balance` is moderate; folders of a level are cut in
/// parallel. At most n levels; about log2(n) / log2(1 + 1 / balance) at worst otherwise.
///
/// \throws Error  kInvalidArgument if the matrix is not square, empty, not finite, negative somewhere, or asymmetric
///                by more than 1e-6 of its largest entry; if balance is not at least 1.
[[nodiscard]] PartitionTree binary_tree(const DoubleMatrix& affinity, const BinaryTreeOptions& options = {});

}  // namespace headscope
