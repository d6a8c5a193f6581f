// What src/cuda uses of cuBLAS, for clang-tidy: the package that has the real header is 400 MB. Names, types and order
// of the arguments are those of cuBLAS 11.11; add a function here when src/cuda calls a new one.
#pragma once

#include <cuda_runtime_api.h>
#include <library_types.h>

using cublasHandle_t = struct cublasContext*;
enum cublasStatus_t { CUBLAS_STATUS_SUCCESS };
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T };
enum cublasComputeType_t { CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32 };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT };

const char* cublasGetStatusString(cublasStatus_t status);
cublasStatus_t cublasCreate(cublasHandle_t* handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, size_t bytes);
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transpose_a, cublasOperation_t transpose_b, int m,
                            int n, int k, const void* alpha, const void* a, cudaDataType_t a_type, int a_stride,
                            const void* b, cudaDataType_t b_type, int b_stride, const void* beta, void* c,
                            cudaDataType_t c_type, int c_stride, cublasComputeType_t compute_type,
                            cublasGemmAlgo_t algorithm);
cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transpose_a,
                                         cublasOperation_t transpose_b, int m, int n, int k, const double* alpha,
                                         const double* a, int a_stride, long long a_distance, const double* b,
                                         int b_stride, long long b_distance, const double* beta, double* c,
                                         int c_stride, long long c_distance, int count);
