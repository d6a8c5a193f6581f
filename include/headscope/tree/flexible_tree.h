#pragma once

#include <cstddef>

#include "headscope/base/matrix.h"
#include "headscope/tree/partition_tree.h"

namespace headscope {

struct FlexibleTreeOptions {
  /// Large values keep clusters small and make the tree deep; small values let clusters grow within a level and make
  /// the tree shallow.
  double epsilon = 1;
  /// Number of eigenpairs in the diffusion coordinates, including the first, constant one.
  std::size_t eigenpairs = 12;
};

/// Builds the flexible tree of a symmetric, nonnegative n x n affinity A: clusters are merged bottom-up by diffusion
/// distance, each level at twice the diffusion time of the one below (the questionnaire of OA, arXiv 2506.15541).
///
/// Markov matrix: d = A 1, B(i, j) = A(i, j) / (d_i d_j), s = B 1, M(i, j) = B(i, j) / sqrt(s_i s_j). Its leading
/// eigenpairs by magnitude, (lambda_k, v_k), give psi_k(i) = v_k(i) / v_1(i), where v_1 = sqrt(s) / ||sqrt(s)|| is
/// known exactly. Element i has the coordinates |lambda_k|^t psi_k(i).
///
/// The leaves are merged at t = 1, the resulting nodes at t = 2, then 4, and so on until one node is left. At each
/// level:
///  - The distance of two nodes is the mean Euclidean distance between the coordinates, at this t, of an element of
///    one and an element of the other, over all such pairs.
///  - `med` is the median of the matrix of these distances, its diagonal counted as infinite (for an even number of
///    entries: the mean of the middle two).
///  - Pairs of nodes are visited by ascending distance, ties by index, as long as they are closer than `med` or at
///    distance 0. The first pair always joins. A later pair joins if both nodes are still alone, or if one is alone,
///    the other is in a cluster of b nodes of this level, and their distance is below (med / epsilon) * 2^(1 - b).
///    Two nodes that have both joined already are skipped.
///  - The clusters are the nodes of the level above.
///
/// Permuting the elements permutes the tree, except for ties. Distances that differ by less than about 1e-12 of the
/// largest one of their level count as equal, so ties do not depend on rounding. Coordinates are divided by
/// |lambda_2|^t, which changes no comparison and prevents underflow. If eigenvalues tie across the requested number of
/// pairs, the choice is the solver's; an affinity without any structure (the identity) is such a case.
///
/// Elements whose rows are zero, diagonal included, are treated as identical, and as a component of their own.
///
/// Cost: O(n^3) for the eigenpairs, O(n^2 (log n + eigenpairs)) per level; 24 n^2 bytes beyond the input. At most n
/// levels, typically about log2(n).
///
/// \throws Error  kInvalidArgument if the matrix is not square, empty, not finite, has a negative entry, or is
///                asymmetric by more than 1e-6 of its largest entry; if epsilon is not a positive number or eigenpairs
///                is below 2.
[[nodiscard]] PartitionTree flexible_tree(const DoubleMatrix& affinity, const FlexibleTreeOptions& options = {});

}  // namespace headscope
