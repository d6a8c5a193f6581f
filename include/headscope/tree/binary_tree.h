#pragma once

#include "headscope/base/matrix.h"
#include "headscope/tree/partition_tree.h"

namespace headscope {

struct BinaryTreeOptions {
  /// The larger side of a cut has at most this many times the elements of the smaller one, up to rounding: 1 halves
  /// every folder, infinity cuts by sign alone. Must be at least 1.
  double balance = 3;
};

/// Builds the binary tree of a symmetric, nonnegative n x n affinity, top-down (OA, arXiv 2506.15541).
///
/// A folder of m elements is cut by psi(i) = v_2(i) / v_1(i), where v_2 is the eigenvector of the second-largest
/// eigenvalue of the Markov matrix of `flexible_tree`, computed from the folder's own submatrix of the affinity.
/// Elements with psi > 0 go to one side. If a side then has fewer than max(1, floor(m / (1 + balance))) elements, it
/// receives the elements of the other side whose psi is nearest to its own until it has that many, ties broken by
/// index. Both sides are cut in turn; a single element that is reached early is repeated on every later level.
///
/// If the eigenvalue is multiple, psi is the projection of the indicator of one of the first elements onto its
/// eigenspace: if the graph has several components, one is cut off at a time. Elements whose rows are zero within a
/// folder, diagonal included, are treated as identical, and as a component of their own.
///
/// Cost: O(n^3) for the root, and for the whole tree as long as `balance` is moderate; the folders of a level are cut
/// in parallel. At most n levels; for finite `balance`, about log2(n) / log2(1 + 1 / balance) in the worst case.
///
/// \throws Error  kInvalidArgument if the matrix is not square, empty, not finite, has a negative entry, or is
///                asymmetric by more than 1e-6 of its largest entry; if balance is not at least 1.
[[nodiscard]] PartitionTree binary_tree(const DoubleMatrix& affinity, const BinaryTreeOptions& options = {});

}  // namespace headscope
