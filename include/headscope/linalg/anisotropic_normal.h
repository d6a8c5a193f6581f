#pragma once

#include <cstddef>
#include <span>

#include "headscope/base/buffer.h"
#include "headscope/base/random.h"

namespace headscope {

/// Accumulates the covariance sum_k x_k x_k^T of vectors of length d.
class CovarianceSum {
 public:
  explicit CovarianceSum(std::size_t d);

  /// Adds `count` contiguous vectors. Cost: d^2 count flops. Threads divide the matrix, not the vectors, so the sum
  /// does not depend on the number of threads.
  void add(std::span<const float> vectors, std::size_t count);

  [[nodiscard]] std::size_t d() const noexcept { return d_; }

 private:
  friend class AnisotropicNormal;
  std::size_t d_;
  Buffer<float> upper_;  // column-major
};

/// Gaussian vectors with mean 0 and a given covariance, up to a factor.
class AnisotropicNormal {
 public:
  /// Cost: d^3 / 3 flops in double, on all threads. Adds 1e-6 of the mean variance to the diagonal, because covariances
  /// of folded weights are singular.
  explicit AnisotropicNormal(CovarianceSum sum);

  /// Fills `vectors` with `count` contiguous draws. Cost: 2 d^2 count flops.
  void sample(Random& random, std::span<float> vectors, std::size_t count) const;

 private:
  std::size_t d_;
  Buffer<float> root_;  // R with R^T R = covariance, upper triangle, column-major
};

}  // namespace headscope
