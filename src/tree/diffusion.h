#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "headscope/base/matrix.h"

namespace headscope {

/// \throws Error  kInvalidArgument, beginning with `who`, unless the matrix is square, not empty, finite, not negative
///                and symmetric up to 1e-6 of its largest entry: it may come from sums of floats.
void check_affinity(const DoubleMatrix& affinity, std::string_view who);

/// The density-normalized symmetric Markov matrix of an affinity A, with d = A 1:
///
///     B(i, j) = A(i, j) / (d_i d_j),   s = B 1,   matrix(i, j) = B(i, j) / sqrt(s_i s_j).
///
/// Its eigenvalues lie in [-1, 1]. `first`, sqrt(s) at unit length, is an eigenvector to the eigenvalue 1 and has no
/// zeros. It is known, and never to be replaced by a computed one: on a disconnected graph the eigenvalue 1 is
/// multiple, and a solver answers with any vector of its eigenspace.
///
/// A is symmetrized. Entries below 1e-100 of the largest count as zero, which keeps every quotient finite. Elements
/// with no affinity at all, not even to themselves, count as alike: as one component of the graph, complete.
struct MarkovMatrix {
  DoubleMatrix matrix;
  std::vector<double> first;
};
[[nodiscard]] MarkovMatrix markov_matrix(const DoubleMatrix& affinity);

/// Eigenpairs of the Markov matrix next to the first one, by magnitude, descending; of equal magnitude the
/// positive one before the negative one. Those that are zero up to rounding are left out.
struct DiffusionModes {
  std::vector<double> values;
  DoubleMatrix vectors;  ///< Row k is psi_k, the eigenvector divided by `first`, element by element.
};
/// At most `count` of them. O(n^3).
[[nodiscard]] DiffusionModes diffusion_modes(const DoubleMatrix& affinity, std::size_t count);

/// psi of the largest eigenvalue (not magnitude) next to the first one: the slowest way in which the set falls apart.
///
/// Where that eigenvalue is multiple there is no such vector, and this is the projection of one element's indicator
/// onto the eigenspace, the first element with its share in it. That does not depend on the solver; on a graph of
/// several components it sets the component of that element apart. The sign is such that this element is positive.
/// Needs n >= 2. O(n^3).
[[nodiscard]] std::vector<double> leading_mode(const DoubleMatrix& affinity);

/// The largest magnitude to 2^40, the rest in proportion and rounded to integers. What is equal in exact arithmetic
/// becomes equal, so that ties fall to the smaller index and not to the last bits, which differ between machines and
/// between orders of the same input. Zeros stay zeros.
void round_to_largest(std::vector<double>& values);

}  // namespace headscope
