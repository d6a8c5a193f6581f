#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace headscope {

/// Principal angles between two subspaces.
struct PrincipalAngles {
  std::vector<double> angles;   ///< Ascending.
  std::vector<double> cosines;  ///< Cosines of the same angles, computed separately to keep their digits.
};
/// Computes the principal angles between the spaces spanned by two orthonormal bases in double: `u` holds p and `v`
/// holds q contiguous vectors of length d. Returns min(p, q) angles in [0, pi/2].
///
/// Large angles are computed from cosines, the singular values of U^T V. Angles below pi/4 are computed from sines, the
/// singular values of V - U U^T V, which are accurate there (Knyazev and Argentati 2002, as in
/// scipy.linalg.subspace_angles).
///
/// \throws Error  kNumeric if a decomposition does not converge.
[[nodiscard]] PrincipalAngles principal_angles(std::span<const double> u, std::size_t p, std::span<const double> v,
                                               std::size_t q, std::size_t d);

/// Computes only the cosines, descending. Takes one decomposition, of a p x q matrix, even if the spaces are close.
///
/// \throws Error  kNumeric if the decomposition does not converge.
[[nodiscard]] std::vector<double> principal_cosines(std::span<const double> u, std::size_t p, std::span<const double> v,
                                                    std::size_t q, std::size_t d);

}  // namespace headscope
