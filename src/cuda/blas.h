#pragma once

#include <cublas_v2.h>

#include <cstddef>

#include "cuda/device.h"
#include "headscope/cuda/cuda_engine.h"

namespace headscope::cuda {

/// Matrix products of cuBLAS, queued to one stream. It has a workspace of its own, so that a product's bits depend on
/// its arguments alone, not on what other streams do. Matrices are column after column.
class Blas {
 public:
  explicit Blas(const Stream& stream);
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;
  ~Blas();

  /// c = a^T b: a is d x m, b is d x n, of floats or of bf16, c is m x n, of floats.
  void product(Precision precision, const void* a, std::size_t m, const void* b, std::size_t n, std::size_t d,
               float* c) const;
  /// gram = a^T a for `count` matrices of d x h.
  void grams(const double* a, std::size_t d, std::size_t h, std::size_t count, double* gram) const;
  /// out = a t for `count` matrices of d x h, each with a t of h x h of its own.
  void transform(const double* a, const double* t, std::size_t d, std::size_t h, std::size_t count,
                 double* out) const;

 private:
  cublasHandle_t handle_ = nullptr;
  DeviceMemory workspace_;
};

}  // namespace headscope::cuda
