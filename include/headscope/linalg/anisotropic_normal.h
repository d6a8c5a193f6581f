#pragma once

#include <cstddef>
#include <span>

#include "headscope/base/buffer.h"
#include "headscope/base/random.h"

namespace headscope {

/// Accumulates the sum_k x_k x_k^T of vectors of length d: for orthonormal bases, the sum of their projectors.
class CovarianceSum {
 public:
  explicit CovarianceSum(std::size_t d);

  /// Adds `count` contiguous vectors. Cost: d^2 count flops. Threads divide the matrix, not the vectors, so the sum
  /// does not depend on the number of threads.
  void add(std::span<const float> vectors, std::size_t count);

  [[nodiscard]] std::size_t d() const noexcept { return d_; }
  [[nodiscard]] double trace() const noexcept;
  /// tr(A B) of two sums.
  [[nodiscard]] double inner(const CovarianceSum& other) const noexcept;

 private:
  friend class AnisotropicNormal;
  std::size_t d_;
  Buffer<float> upper_;  // column-major
};

/// Gaussian vectors with mean 0 and covariance P (I - P)^-1, where P is the mean of projectors. The mean projector of
/// the subspaces that such vectors span is close to P: for a subspace of dimension h in directions with variances s,
/// the expected projector is about s / (1 + s) per direction.
class AnisotropicNormal {
 public:
  /// P = sum / count. With P = R^T R and I - R R^T = S^T S, the root of the covariance is R^T S^-1. Adds 1e-6 of the
  /// mean eigenvalue to P, because mean projectors of centered weights, or of few heads, are singular, and 1e-3 to
  /// I - P, because a direction that all heads share has eigenvalue 1. Cost: 3 d^3 flops in double, on all threads;
  /// the tiling and the bits depend only on d.
  ///
  /// \throws Error  kNumeric if P is not a mean of projectors: it has an eigenvalue above 1, or a NaN.
  AnisotropicNormal(const CovarianceSum& sum, double count);

  /// Fills `vectors` with `count` contiguous draws. Cost: 2 d^2 count flops.
  void sample(Random& random, std::span<float> vectors, std::size_t count) const;

 private:
  std::size_t d_;
  Buffer<float> root_;  // C = S^-T R with C^T C = covariance, column-major
};

}  // namespace headscope
