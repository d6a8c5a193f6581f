#pragma once

#include <cstddef>

#include "headscope/base/matrix.h"
#include "headscope/tree/partition_tree.h"

namespace headscope {

struct FlexibleTreeOptions {
  /// Large: clusters stay small and the tree deep. Small: clusters grow within a level and the tree is shallow.
  double epsilon = 1;
  /// Eigenpairs in the diffusion coordinates, the first and constant one counted.
  std::size_t eigenpairs = 12;
};

/// The flexible tree of a symmetric, nonnegative n x n affinity A: diffusion
/// distances, and clusters that join bottom-up, each level at twice the time
/// of the one below (the questionnaire of OA, arXiv 2506.15541).
///
/// Markov matrix: d = A 1, B(i, j) = A(i, j) / (d_i d_j), s = B 1, M(i, j) = B(i, j) / sqrt(s_i s_j).
/// Its leading eigenpairs by magnitude, (lambda_k, v_k), give psi_k(i) = v_k(i) / v_1(i) with the known v_1 = sqrt(s) /
/// ||sqrt(s)||, and element i the coordinates |lambda_k|^t psi_k(i).
///
/// The leaves join at t = 1, what they make at t = 2, then 4, and so on until one node is left. At each level:
///  - The distance of two nodes is the mean, over the pairs of an element of one and an element of the other, of the
///    Euclidean distances between their coordinates at this t.
///  - `med` is the median of the matrix of these distances, its diagonal counted as infinite (of an even number of
///    entries: the mean of the two in the middle).
///  - Pairs of nodes are taken from the closest on, ties by index, as long as they are closer than `med`, or at
///    distance 0. The first pair always joins. Another one joins if both nodes are still alone, or if one is, the
///    other is in a cluster of b nodes of this level, and their distance is below (med / epsilon) * 2^(1 - b). Two
///    nodes that have both joined already are passed over.
///  - The clusters are the nodes of the level above.
///
/// Permuting the elements permutes the tree, ties apart. Distances count as equal if they differ by less than about
/// 1e-12 of the largest of their level, so ties do not hang on rounding. Coordinates are divided by |lambda_2|^t,
/// which changes no comparison and keeps them from underflowing. If eigenvalues tie across the number of pairs asked
/// for, the solver chooses among them; an affinity without any structure (the identity) is such a case.
///
/// Elements whose rows are zero, diagonal included, count as alike, and as a component of their own.
///
/// Cost: O(n^3) for the eigenpairs, O(n^2 (log n + eigenpairs)) a level; 24 n^2 bytes beyond the input. At most n
/// levels, about log2(n) as a rule.
///
/// \throws Error  kInvalidArgument if the matrix is not square, empty, not finite, negative somewhere, or asymmetric
///                by more than 1e-6 of its largest entry; if epsilon is not a positive number or eigenpairs is
///                below 2.
[[nodiscard]] PartitionTree flexible_tree(const DoubleMatrix& affinity, const FlexibleTreeOptions& options = {});

}  // namespace headscope
