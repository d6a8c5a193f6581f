#pragma once

#include <cstddef>
#include <vector>

#include "headscope/base/matrix.h"

namespace headscope {

struct DiffusionMapOptions {
  std::size_t dimensions = 8;  ///< Maximum number of coordinates per element.
  double time = 1;             ///< Diffusion time t, not negative.
};

/// Diffusion coordinates of the elements of an affinity (Coifman and Lafon 2006).
struct DiffusionMap {
  DoubleMatrix coordinates;      ///< [element, dimension]
  std::vector<double> spectrum;  ///< Eigenvalues of the Markov matrix by magnitude, without the first, which is 1.
};

/// Computes the diffusion map of a symmetric, nonnegative affinity. Coordinate k of element i is
///
///     |lambda_k|^t psi_k(i),   psi_k = D^(-1/2) v_k,
///
/// where (lambda_k, v_k) are the leading eigenpairs, by magnitude, of the symmetric Markov matrix of `flexible_tree`,
/// without the trivial one. psi_k is scaled so that its mean square under the stationary distribution is 1 and its
/// entry of largest magnitude (the first one, if several tie) is positive. Eigenvalues that are zero up to rounding are
/// left out, so there may be fewer dimensions than requested. Cost: O(n^3).
///
/// \throws Error  kInvalidArgument as `flexible_tree`, or if the number of dimensions is zero or the time is negative.
[[nodiscard]] DiffusionMap diffusion_map(const DoubleMatrix& affinity, const DiffusionMapOptions& options = {});

}  // namespace headscope
