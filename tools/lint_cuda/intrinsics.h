// Device functions of CUDA that clang 14 does not declare. Templates, so that a clang that declares them takes its own.
#pragma once

template <typename T>
__device__ T __ldcs(const T* place);
template <typename T>
__device__ T __reduce_max_sync(unsigned mask, T value);
