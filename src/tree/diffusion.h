#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "headscope/base/matrix.h"

namespace headscope {

/// \throws Error  kInvalidArgument, with the prefix `who`, unless the matrix is square, not empty, finite, not
///                negative, and symmetric up to 1e-6 of its largest entry: it may come from sums of floats.
void check_affinity(const DoubleMatrix& affinity, std::string_view who);

/// The density-normalized symmetric Markov matrix of an affinity A, with d = A 1:
///
///     B(i, j) = A(i, j) / (d_i d_j),   s = B 1,   matrix(i, j) = B(i, j) / sqrt(s_i s_j).
///
/// Its eigenvalues lie in [-1, 1]. `first`, sqrt(s) scaled to unit length, is an eigenvector for the eigenvalue 1 and
/// has no zeros. Never replace it by a computed one: on a disconnected graph the eigenvalue 1 is multiple, and a solver
/// may return any vector of its eigenspace.
///
/// A is symmetrized. Entries below 1e-100 of the largest one count as zero, which keeps every quotient finite. Elements
/// with no affinity at all, not even to themselves, are treated as identical: they form one complete component of the
/// graph.
struct MarkovMatrix {
  DoubleMatrix matrix;
  std::vector<double> first;
};
[[nodiscard]] MarkovMatrix markov_matrix(const DoubleMatrix& affinity);

/// Eigenpairs of the Markov matrix except the first, by descending magnitude; of two with equal magnitude, the positive
/// one comes first. Eigenvalues that are zero up to rounding are left out.
struct DiffusionModes {
  std::vector<double> values;
  DoubleMatrix vectors;  ///< Row k is psi_k, the eigenvector divided element-wise by `first`.
};
/// Computes at most `count` of them. O(n^3).
[[nodiscard]] DiffusionModes diffusion_modes(const DoubleMatrix& affinity, std::size_t count);

/// Computes psi of the largest eigenvalue (not magnitude) except the first: the slowest mode of separation of the set.
///
/// If that eigenvalue is multiple, this eigenvector is not unique, and the result is the projection onto the eigenspace
/// of the indicator of one element, the first with a non-negligible component in it. This does not depend on the
/// solver; on a graph with several components it separates the component of that element. The sign makes this element
/// positive. Requires n >= 2. O(n^3).
[[nodiscard]] std::vector<double> leading_mode(const DoubleMatrix& affinity);

/// Scales the largest magnitude to 2^40 and rounds all values to integers. Values that are equal in exact arithmetic
/// become equal, so that ties are broken by index and not by the last bits, which differ between machines and between
/// orders of the same input. Zeros stay zero.
void round_to_largest(std::vector<double>& values);

}  // namespace headscope
