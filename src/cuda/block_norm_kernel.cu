#include "cuda/block_norm_kernel.h"

#include "cuda/device.h"

namespace headscope::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kLoads = 8;

__device__ float squares(float value) {
  return value * value;
}
__device__ float squares(float4 value) {
  return (value.x * value.x + value.y * value.y) + (value.z * value.z + value.w * value.w);
}

// One thread block per block of the product. T is float4 if the widths allow it.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    block_norms_kernel(const T* values, int height, int width, size_t column_stride, TilePlace place, float* out) {
  const size_t i = place.row + blockIdx.x;
  const size_t j = place.column + blockIdx.y;
  if (place.mirrored && j < i) return;
  values += size_t{blockIdx.x} * height + blockIdx.y * (width * column_stride);
  // (row, column) of this thread's next numbers; it strides through the block in steps of kThreads.
  int row = threadIdx.x % height;
  int column = threadIdx.x / height;
  const int row_step = kThreads % height;
  const int column_step = kThreads / height;
  float sum = 0;
  if (row_step == 0) {  // the row stays the same, so several loads can be in flight
    for (; column + (kLoads - 1) * column_step < width; column += kLoads * column_step) {
      T loaded[kLoads];
#pragma unroll
      for (int k = 0; k < kLoads; ++k) loaded[k] = __ldcs(values + (column + k * column_step) * column_stride + row);
#pragma unroll
      for (int k = 0; k < kLoads; ++k) sum += squares(loaded[k]);
    }
  }
  while (column < width) {
    sum += squares(__ldcs(values + column * column_stride + row));
    row += row_step;
    const bool carry = row >= height;
    row -= carry ? height : 0;
    column += column_step + carry;
  }
  double total = sum;
  for (int offset = 16; offset > 0; offset /= 2) total += __shfl_xor_sync(0xffffffff, total, offset);
  __shared__ double sums[kThreads / 32];
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = total;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int warp = 1; warp < kThreads / 32; ++warp) total += sums[warp];
  out[i * place.stride + j] = static_cast<float>(total);
  if (place.mirrored) out[j * place.stride + i] = static_cast<float>(total);
}

}  // namespace

void block_norms(const ProductTile& tile, const TilePlace& place, float* out, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(tile.rows), static_cast<unsigned>(tile.columns));
  const int height = static_cast<int>(tile.row_width);
  const int width = static_cast<int>(tile.column_width);
  const std::size_t stride = tile.rows * tile.row_width;
  if (height % 4 == 0) {
    block_norms_kernel<<<grid, kThreads, 0, stream>>>(reinterpret_cast<const float4*>(tile.values), height / 4, width,
                                                      stride / 4, place, out);
  } else {
    block_norms_kernel<<<grid, kThreads, 0, stream>>>(tile.values, height, width, stride, place, out);
  }
  check_launch("block_norms");
}

}  // namespace headscope::cuda
