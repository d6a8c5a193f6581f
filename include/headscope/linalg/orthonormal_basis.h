#pragma once

#include <cstddef>
#include <span>

namespace headscope {

/// Writes an orthonormal basis of the space spanned by `count` vectors of length
/// `d`, which lie one after another in `vectors`, into `basis`, and returns its
/// dimension r: the number of singular values above `tolerance * s_max`. The last
/// count - r vectors of `basis` become zero. `vectors` and `basis` may not overlap.
///
/// Cholesky QR in double precision, repeated where the condition number asks for
/// it; where that leaves open whether a singular value counts, eigenvectors of the
/// Gram matrix decide. Orthonormal to float rounding. Tolerances below 1e-7
/// cannot be told from rounding and are raised to it.
///
/// Cost: 4 d count^2 flops in double.
///
/// \throws Error  kNumeric if a vector holds a NaN or an infinity.
std::size_t orthonormal_basis(std::span<const float> vectors, std::size_t d, std::size_t count, double tolerance,
                              std::span<float> basis);

/// The same with a basis in double precision, orthonormal to double rounding.
std::size_t orthonormal_basis(std::span<const float> vectors, std::size_t d, std::size_t count, double tolerance,
                              std::span<double> basis);

}  // namespace headscope
