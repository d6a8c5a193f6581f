#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace headscope {

/// Traces of the Gram matrix G = A^T A of `count` contiguous vectors of length d.
struct GramMoments {
  double trace = 0;            ///< tr G = ||A||_F^2
  double trace_of_square = 0;  ///< tr G^2 = ||A^T A||_F^2
  double trace_of_cube = 0;    ///< tr G^3
};

/// The traces for an orthonormal basis of `rank` vectors.
[[nodiscard]] constexpr GramMoments projector_moments(std::size_t rank) noexcept {
  const auto trace = static_cast<double>(rank);
  return {trace, trace, trace};
}

[[nodiscard]] GramMoments gram_moments(std::span<const float> vectors, std::size_t d, std::size_t count);

/// Returns the upper triangle of the Gram matrix, column-major, count x count; the rest is zero.
[[nodiscard]] std::vector<double> gram_matrix(std::span<const float> vectors, std::size_t d, std::size_t count);

/// Computes out = A L with L L^T = G, positive semidefinite and given by its upper triangle, column-major. A is `count`
/// contiguous vectors of length d.
///
/// \throws Error  kNumeric if G contains a NaN or an infinity.
void multiply_by_root(std::span<const float> a, std::vector<double> gram, std::size_t d, std::size_t count,
                      std::span<float> out);

/// Computes out = A L with L L^T = B^T B, so that ||B A^T X||_F = ||out^T X||_F for every X: a product with d x d
/// matrices becomes one with d x count matrices. A and B are `count` contiguous vectors of length d each; B may be
/// rank-deficient.
///
/// \throws Error  kNumeric if B contains a NaN or an infinity.
void multiply_by_gram_root(std::span<const float> a, std::span<const float> b, std::size_t d, std::size_t count,
                           std::span<float> out);

}  // namespace headscope
