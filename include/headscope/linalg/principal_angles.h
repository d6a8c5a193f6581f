#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace headscope {

/// Principal angles between the spaces spanned by two orthonormal bases in double,
/// `p` and `q` vectors of length d one after another: min(p, q) angles in [0, pi/2],
/// ascending.
///
/// Large angles come from cosines, the singular values of U^T V; where some are below pi/4,
/// those come from sines, the singular values of V - U U^T V, which keep their
/// digits (Knyazev and Argentati 2002, as scipy.linalg.subspace_angles does).
///
/// \throws Error  kNumeric if a decomposition does not converge.
struct PrincipalAngles {
  std::vector<double> angles;   ///< Ascending.
  std::vector<double> cosines;  ///< Of the same angles, each with its own digits.
};
[[nodiscard]] PrincipalAngles principal_angles(std::span<const double> u, std::size_t p, std::span<const double> v,
                                               std::size_t q, std::size_t d);

/// Their cosines alone, descending: one decomposition, of p x q, also where spaces are close.
///
/// \throws Error  kNumeric if the decomposition does not converge.
[[nodiscard]] std::vector<double> principal_cosines(std::span<const double> u, std::size_t p, std::span<const double> v,
                                                    std::size_t q, std::size_t d);

}  // namespace headscope
