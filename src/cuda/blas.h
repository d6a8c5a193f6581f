#pragma once

#include <cublas_v2.h>

#include <cstddef>

#include "cuda/device.h"
#include "headscope/cuda/cuda_engine.h"

namespace headscope::cuda {

/// cuBLAS matrix products, queued to one stream. Has its own workspace, so that the bits of a product depend only on
/// its arguments, not on what other streams do. Matrices are column-major.
class Blas {
 public:
  explicit Blas(const Stream& stream);
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;
  ~Blas();

  /// One of the two factors of `product`: columns of d numbers each, `stride` apart.
  struct Factor {
    const void* values = nullptr;
    std::size_t columns = 0;
    std::size_t stride = 0;
  };
  /// c = a^T b, with factors stored in the given precision; c is column-major float.
  void product(Precision precision, const Factor& a, const Factor& b, std::size_t d, float* c) const;
  /// gram = a^T a, for `count` matrices of d x h.
  void grams(const double* a, std::size_t d, std::size_t h, std::size_t count, double* gram) const;
  /// out = t t^T, for `count` matrices of h x h.
  void outer_squares(const double* t, std::size_t h, std::size_t count, double* out) const;
  /// out = a a, for `count` matrices of h x h.
  void squares(const double* a, std::size_t h, std::size_t count, double* out) const;
  /// out = a t, for `count` matrices a of d x h, each with its own t of h x h.
  void transform(const double* a, const double* t, std::size_t d, std::size_t h, std::size_t count, double* out) const;

 private:
  /// `count` products of m x k and k x n.
  struct BatchSizes {
    std::size_t m, n, k, count;
  };
  void batch(bool transpose_a, bool transpose_b, const BatchSizes& sizes, const double* a, const double* b,
             double* c) const;

  cublasHandle_t handle_ = nullptr;
  DeviceMemory workspace_;
};

}  // namespace headscope::cuda
