#pragma once

#include <cstddef>
#include <vector>

#include "headscope/base/matrix.h"

namespace headscope {

struct DiffusionMapOptions {
  std::size_t dimensions = 8;  ///< Coordinates of an element, at most.
  double time = 1;             ///< Diffusion time t. Not negative.
};

/// Where the elements of an affinity lie (Coifman and Lafon 2006).
struct DiffusionMap {
  DoubleMatrix coordinates;      ///< [element, dimension]
  std::vector<double> spectrum;  ///< Eigenvalues of the Markov matrix next to the first, which is 1, by magnitude.
};

/// The diffusion map of a symmetric, nonnegative affinity: coordinate k of element i is
///
///     |lambda_k|^t psi_k(i),   psi_k = D^(-1/2) v_k,
///
/// (lambda_k, v_k) the leading eigenpairs, by magnitude, of the symmetric Markov matrix of `flexible_tree`, next to the
/// trivial one; psi_k is scaled so that its mean square under the stationary distribution is 1, and
/// its largest entry in magnitude (the first of those) is positive. Eigenvalues that are zero up to rounding are left
/// out, so there may be fewer dimensions than asked for. Cost: O(n^3).
///
/// \throws Error  kInvalidArgument as `flexible_tree`, or if no dimension is asked for or the time is negative.
[[nodiscard]] DiffusionMap diffusion_map(const DoubleMatrix& affinity, const DiffusionMapOptions& options = {});

}  // namespace headscope
