#include "cuda/strassen_kernels.h"

#include "cuda/device.h"

namespace headscope::cuda {
namespace {

constexpr int kThreads = 256;

// Rounds ties to even: among sums of two rounded numbers every second one is a tie, and if all of them were rounded
// away from zero, pk would be 3e-4 too large.
__device__ float round_tf32(float value) {
  constexpr unsigned kCut = 13;  // bits
  unsigned bits = __float_as_uint(value);
  bits += (1u << (kCut - 1)) - 1 + (bits >> kCut & 1);
  return __uint_as_float(bits >> kCut << kCut);
}

__device__ float4 add(float4 a, float4 b) {
  return {round_tf32(a.x + b.x), round_tf32(a.y + b.y), round_tf32(a.z + b.z), round_tf32(a.w + b.w)};
}
__device__ float4 subtract(float4 a, float4 b) {
  return {round_tf32(a.x - b.x), round_tf32(a.y - b.y), round_tf32(a.z - b.z), round_tf32(a.w - b.w)};
}

// Each thread computes four numbers of each of the four quarters. `half` is the column length of a quarter, divided by
// four.
__global__ void __launch_bounds__(kThreads)
    half_sums_kernel(const float4* values, size_t columns, size_t half, bool is_source, float4* out) {
  const size_t size = columns / 2 * half;
  const size_t at = size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= size) return;
  const float4* first = values + at / half * (2 * half) + at % half;
  const float4* second = first + columns / 2 * (2 * half);
  const float4 x11 = first[0];
  const float4 x12 = first[half];
  const float4 x21 = second[0];
  const float4 x22 = second[half];
  out[at] = add(x11, x22);
  out[at + size] = is_source ? add(x21, x22) : subtract(x21, x22);
  out[at + 2 * size] = is_source ? add(x11, x12) : subtract(x12, x11);
  out[at + 3 * size] = is_source ? subtract(x21, x11) : add(x11, x21);
  out[at + 4 * size] = is_source ? subtract(x12, x22) : add(x12, x22);
}

struct FourSums {
  float c11 = 0;
  float c12 = 0;
  float c21 = 0;
  float c22 = 0;

  __device__ void take(const float (&p)[kHalfProducts]) {
    const float a = (p[0] + p[3]) + (p[6] - p[4]);
    const float b = p[2] + p[4];
    const float c = p[1] + p[3];
    const float d = (p[0] - p[1]) + (p[2] + p[5]);
    c11 += a * a;
    c12 += b * b;
    c21 += c * c;
    c22 += d * d;
  }
  __device__ void take(const float4 (&p)[kHalfProducts]) {
    take({p[0].x, p[1].x, p[2].x, p[3].x, p[4].x, p[5].x, p[6].x});
    take({p[0].y, p[1].y, p[2].y, p[3].y, p[4].y, p[5].y, p[6].y});
    take({p[0].z, p[1].z, p[2].z, p[3].z, p[4].z, p[5].z, p[6].z});
    take({p[0].w, p[1].w, p[2].w, p[3].w, p[4].w, p[5].w, p[6].w});
  }
};

__device__ double sum_of_warp(double value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffff, value, offset);
  return value;
}

// One thread block per block of each product. T is float4 if the widths allow it.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    halves_kernel(const T* values, int height, int width, size_t column_stride, size_t product_stride, TilePlace place,
                  size_t rows, size_t columns, float* out) {
  values += size_t{blockIdx.x} * height + blockIdx.y * (width * column_stride);
  int row = threadIdx.x % height;
  int column = threadIdx.x / height;
  const int row_step = kThreads % height;
  const int column_step = kThreads / height;
  FourSums sums;
  while (column < width) {
    T loaded[kHalfProducts];
#pragma unroll
    for (int p = 0; p < static_cast<int>(kHalfProducts); ++p) {
      loaded[p] = __ldcs(values + p * product_stride + column * column_stride + row);
    }
    sums.take(loaded);
    row += row_step;
    const bool carry = row >= height;
    row -= carry ? height : 0;
    column += column_step + carry;
  }
  __shared__ double shared[4][kThreads / 32];
  const double own[4] = {sums.c11, sums.c12, sums.c21, sums.c22};
  for (int k = 0; k < 4; ++k) {
    const double total = sum_of_warp(own[k]);
    if (threadIdx.x % 32 == 0) shared[k][threadIdx.x / 32] = total;
  }
  __syncthreads();
  if (threadIdx.x >= 4) return;
  double total = 0;
  for (int warp = 0; warp < kThreads / 32; ++warp) total += shared[threadIdx.x][warp];
  const size_t i = place.row + blockIdx.x + (threadIdx.x / 2) * rows;
  const size_t j = place.column + blockIdx.y + (threadIdx.x % 2) * columns;
  out[i * place.stride + j] = static_cast<float>(total);
}

}  // namespace

void make_half_sums(const WholeFactors& factors, bool is_source, float* out, cudaStream_t stream) {
  const std::size_t half = factors.d / 2 / 4;
  const std::size_t size = factors.columns / 2 * half;
  half_sums_kernel<<<static_cast<unsigned>((size + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      reinterpret_cast<const float4*>(factors.values), factors.columns, half, is_source,
      reinterpret_cast<float4*>(out));
  check_launch("half_sums");
}

std::array<HalfFactor, kHalfProducts> half_factors(const WholeFactors& factors, const float* sums, bool is_source) {
  const HalfFactor x11{factors.values, factors.d};
  const HalfFactor x22{factors.values + factors.columns / 2 * factors.d + factors.d / 2, factors.d};
  const auto sum = [&](std::size_t k) {
    return HalfFactor{sums + k * (factors.columns / 2) * (factors.d / 2), factors.d / 2};
  };
  if (is_source) return {sum(0), sum(1), x11, x22, sum(2), sum(3), sum(4)};
  return {sum(0), x11, sum(1), sum(2), x22, sum(3), sum(4)};
}

void block_norms_of_halves(const ProductTile& tile, const TilePlace& place, std::size_t rows, std::size_t columns,
                           float* out, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(tile.rows), static_cast<unsigned>(tile.columns));
  const int height = static_cast<int>(tile.row_width);
  const int width = static_cast<int>(tile.column_width);
  const std::size_t stride = tile.rows * tile.row_width;
  const std::size_t product = stride * tile.columns * tile.column_width;
  if (height % 4 == 0) {
    halves_kernel<<<grid, kThreads, 0, stream>>>(reinterpret_cast<const float4*>(tile.values), height / 4, width,
                                                 stride / 4, product / 4, place, rows, columns, out);
  } else {
    halves_kernel<<<grid, kThreads, 0, stream>>>(tile.values, height, width, stride, product, place, rows, columns,
                                                 out);
  }
  check_launch("block_norms_of_halves");
}

}  // namespace headscope::cuda
