#include "cuda/blas.h"

#include <fmt/format.h>

#include <limits>

#include "headscope/base/error.h"

namespace headscope::cuda {
namespace {

// What cuBLAS asks for on Hopper; less would rule out some of its kernels.
constexpr std::size_t kWorkspace = std::size_t{32} << 20;

void check_blas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(ErrorKind::kBackend, fmt::format("cuda: {}: {}", what, cublasGetStatusString(status)));
}

int narrow(std::size_t extent) {
  if (extent > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Error(ErrorKind::kBackend, fmt::format("cuda: a matrix of {} columns is too large for cuBLAS", extent));
  }
  return static_cast<int>(extent);
}

cublasComputeType_t compute_type(Precision precision) {
  // Not CUBLAS_COMPUTE_32F_FAST_16BF for bf16: that would round floats; these factors are stored rounded.
  return precision == Precision::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

}  // namespace

Blas::Blas(const Stream& stream) : workspace_(kWorkspace) {
  check_blas(cublasCreate(&handle_), "cuBLAS does not start");
  check_blas(cublasSetStream(handle_, stream.get()), "cuBLAS takes no stream");
  check_blas(cublasSetWorkspace(handle_, workspace_.as(), workspace_.bytes()), "cuBLAS takes no workspace");
}

Blas::~Blas() {
  if (handle_ != nullptr) static_cast<void>(cublasDestroy(handle_));
}

void Blas::product(Precision precision, const void* a, std::size_t m, const void* b, std::size_t n, std::size_t d,
                   float* c) const {
  const cudaDataType_t type = precision == Precision::kBf16 ? CUDA_R_16BF : CUDA_R_32F;
  const float one = 1;
  const float zero = 0;
  check_blas(cublasGemmEx(handle_, CUBLAS_OP_T, CUBLAS_OP_N, narrow(m), narrow(n), narrow(d), &one, a, type, narrow(d),
                          b, type, narrow(d), &zero, c, CUDA_R_32F, narrow(m), compute_type(precision),
                          CUBLAS_GEMM_DEFAULT),
             "a product failed");
}

void Blas::grams(const double* a, std::size_t d, std::size_t h, std::size_t count, double* gram) const {
  const double one = 1;
  const double zero = 0;
  const auto stride = static_cast<long long>(d * h);
  check_blas(cublasDgemmStridedBatched(handle_, CUBLAS_OP_T, CUBLAS_OP_N, narrow(h), narrow(h), narrow(d), &one, a,
                                       narrow(d), stride, a, narrow(d), stride, &zero, gram, narrow(h),
                                       static_cast<long long>(h * h), narrow(count)),
             "Gram matrices failed");
}

void Blas::transform(const double* a, const double* t, std::size_t d, std::size_t h, std::size_t count,
                     double* out) const {
  const double one = 1;
  const double zero = 0;
  const auto stride = static_cast<long long>(d * h);
  check_blas(cublasDgemmStridedBatched(handle_, CUBLAS_OP_N, CUBLAS_OP_N, narrow(d), narrow(h), narrow(h), &one, a,
                                       narrow(d), stride, t, narrow(h), static_cast<long long>(h * h), &zero, out,
                                       narrow(d), stride, narrow(count)),
             "a transform failed");
}

}  // namespace headscope::cuda
