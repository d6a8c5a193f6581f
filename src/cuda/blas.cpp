#include "cuda/blas.h"

#include <fmt/format.h>

#include <limits>

#include "cuda/basis_kernels.h"
#include "headscope/base/error.h"

namespace headscope::cuda {
namespace {

// The size cuBLAS recommends for Hopper; less would rule out some of its kernels.
constexpr std::size_t kWorkspace = std::size_t{32} << 20;

void check_blas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(ErrorKind::kBackend, fmt::format("cuda: {}: {}", what, cublasGetStatusString(status)));
}

// Distance between consecutive matrices of a batch.
long long distance(std::size_t rows, std::size_t columns) {
  return static_cast<long long>(rows) * static_cast<long long>(columns);
}

int narrow(std::size_t extent) {
  if (extent > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Error(ErrorKind::kBackend, fmt::format("cuda: a matrix of {} columns is too large for cuBLAS", extent));
  }
  return static_cast<int>(extent);
}

cudaDataType_t number_type(Precision precision) {
  return precision == Precision::kBf16 ? CUDA_R_16BF : precision == Precision::kFp16 ? CUDA_R_16F : CUDA_R_32F;
}

cublasComputeType_t compute_type(Precision precision) {
  return precision == Precision::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

}  // namespace

Blas::Blas(const Stream& stream) : workspace_(kWorkspace) {
  check_blas(cublasCreate(&handle_), "cannot initialize cuBLAS");
  check_blas(cublasSetStream(handle_, stream.get()), "cannot set the stream of cuBLAS");
  check_blas(cublasSetWorkspace(handle_, workspace_.as(), workspace_.bytes()), "cannot set the workspace of cuBLAS");
}

Blas::~Blas() {
  if (handle_ != nullptr) static_cast<void>(cublasDestroy(handle_));
}

void Blas::product(Precision precision, const Factor& a, const Factor& b, std::size_t d, float* c) const {
  const cudaDataType_t type = number_type(precision);
  // Undoes the scaling of both fp16 factors; exact, since it is a power of two.
  const float scale = precision == Precision::kFp16 ? 1 / (kFp16Scale * kFp16Scale) : 1.0F;
  const float zero = 0;
  check_blas(cublasGemmEx(handle_, CUBLAS_OP_T, CUBLAS_OP_N, narrow(a.columns), narrow(b.columns), narrow(d), &scale,
                          a.values, type, narrow(a.stride), b.values, type, narrow(b.stride), &zero, c, CUDA_R_32F,
                          narrow(a.columns), compute_type(precision), CUBLAS_GEMM_DEFAULT),
             "a matrix product failed");
}

void Blas::batch(bool transpose_a, bool transpose_b, const BatchSizes& sizes, const double* a, const double* b,
                 double* c) const {
  const double one = 1;
  const double zero = 0;
  const std::size_t a_rows = transpose_a ? sizes.k : sizes.m;
  const std::size_t b_rows = transpose_b ? sizes.n : sizes.k;
  check_blas(cublasDgemmStridedBatched(handle_, transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N,
                                       transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N, narrow(sizes.m), narrow(sizes.n),
                                       narrow(sizes.k), &one, a, narrow(a_rows), distance(sizes.m, sizes.k), b,
                                       narrow(b_rows), distance(sizes.k, sizes.n), &zero, c, narrow(sizes.m),
                                       distance(sizes.m, sizes.n), narrow(sizes.count)),
             "a batch of matrix products failed");
}

void Blas::grams(const double* a, std::size_t d, std::size_t h, std::size_t count, double* gram) const {
  batch(true, false, {h, h, d, count}, a, a, gram);
}

void Blas::outer_squares(const double* t, std::size_t h, std::size_t count, double* out) const {
  batch(false, true, {h, h, h, count}, t, t, out);
}

void Blas::squares(const double* a, std::size_t h, std::size_t count, double* out) const {
  batch(false, false, {h, h, h, count}, a, a, out);
}

void Blas::transform(const double* a, const double* t, std::size_t d, std::size_t h, std::size_t count,
                     double* out) const {
  batch(false, false, {d, h, h, count}, a, t, out);
}

}  // namespace headscope::cuda
