#pragma once

#include <cstddef>
#include <span>

namespace headscope {

/// Writes an orthonormal basis of the span of `count` contiguous vectors of length `d` to `basis` and returns its
/// dimension r: the number of singular values above both `tolerance * s_max` and `noise`. The last count - r vectors of
/// `basis` are set to zero. `vectors` and `basis` must not overlap.
///
/// Uses Cholesky QR in double precision, repeated if the condition number requires it; if that does not decide whether
/// a singular value counts, the eigenvectors of the Gram matrix do. The result is orthonormal to float rounding.
/// Tolerances below 1e-7 cannot be distinguished from rounding and are raised to 1e-7.
///
/// Cost: 4 d count^2 flops in double.
///
/// \throws Error  kNumeric if a vector contains a NaN or an infinity.
std::size_t orthonormal_basis(std::span<const float> vectors, std::size_t d, std::size_t count, double tolerance,
                              std::span<float> basis, double noise = 0);

/// The same with a basis in double precision, orthonormal to double rounding.
std::size_t orthonormal_basis(std::span<const float> vectors, std::size_t d, std::size_t count, double tolerance,
                              std::span<double> basis, double noise = 0);

}  // namespace headscope
