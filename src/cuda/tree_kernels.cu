#include "cuda/tree_kernels.h"

#include "cuda/device.h"

namespace headscope::cuda {
namespace {

constexpr int kThreads = 256;

unsigned blocks_for(std::size_t count) {
  return static_cast<unsigned>((count + kThreads - 1) / kThreads);
}

__global__ void place_entries_kernel(const float* entries, size_t first, size_t count, TensorOrder order,
                                     PresentEntries present, SliceGrid grid, float* values, uint8_t* presence) {
  const size_t i = size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  size_t rest = first + i;
  size_t slice = 0;
  size_t row = 0;
  size_t column = 0;
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    const size_t here = rest % order.extents[k];
    rest /= order.extents[k];
    if (order.axes[k] == TensorOrder::kSlice) slice = here;
    if (order.axes[k] == TensorOrder::kRow) row = here;
    if (order.axes[k] == TensorOrder::kColumn) column = here;
  }
  const bool there =
      present.values == nullptr || present.values[slice * present.slice_stride + row * present.row_stride +
                                                  column * present.column_stride - present.before] != 0;
  const size_t place = (row * grid.columns + column) * grid.width + slice;
  values[place] = there ? entries[i] : 0.0F;
  if (presence != nullptr) presence[place] = there;
}

// One warp per entry.
__global__ void __launch_bounds__(kThreads) center_entries_kernel(SliceGrid grid, float* values) {
  const size_t entry = size_t{blockIdx.x} * (kThreads / 32) + threadIdx.x / 32;
  if (entry >= grid.rows * grid.columns) return;
  float* const own = values + entry * grid.width;
  double sum = 0;
  for (size_t s = threadIdx.x % 32; s < grid.slices; s += 32) sum += double{own[s]};
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
  const float mean = static_cast<float>(sum / static_cast<double>(grid.slices));
  for (size_t s = threadIdx.x % 32; s < grid.slices; s += 32) own[s] -= mean;
}

// The bits of non-negative floats compare like the floats.
__global__ void __launch_bounds__(kThreads) find_largest_kernel(const float* values, size_t count, int* largest) {
  int own = 0;
  for (size_t i = size_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += size_t{gridDim.x} * kThreads) {
    own = max(own, __float_as_int(fabsf(values[i])));
  }
  own = __reduce_max_sync(0xffffffff, own);
  if (threadIdx.x % 32 == 0) atomicMax(largest, own);
}

// One thread per column and slice, for one folder.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    sum_rows_kernel(SliceGrid grid, const T* values, DeviceFolders rows, size_t first, float* out) {
  const size_t row_size = grid.columns * grid.width;
  const size_t i = size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= row_size) return;
  const size_t folder = first + blockIdx.y;
  double sum = 0;
#pragma unroll 4
  for (int r = rows.begin[folder]; r < rows.end[folder]; ++r) {
    sum += static_cast<double>(values[static_cast<size_t>(rows.order[r]) * row_size + i]);
  }
  out[blockIdx.y * row_size + i] = static_cast<float>(sum);
}

__device__ double sum_columns(const float* sums, size_t width, const DeviceFolders& columns, size_t folder) {
  double sum = 0;
#pragma unroll 4
  for (int c = columns.begin[folder]; c < columns.end[folder]; ++c) {
    sum += double{sums[static_cast<size_t>(columns.order[c]) * width]};
  }
  return sum;
}

// One thread per column folder and slice, for one row folder.
__global__ void __launch_bounds__(kThreads)
    make_features_kernel(SliceGrid grid, FeatureSource source, DeviceFolders rows, size_t first, DeviceFolders columns,
                         float* out) {
  const size_t i = size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= columns.count * grid.width) return;
  const size_t column = i / grid.width;
  const size_t slice = i % grid.width;
  const size_t row = first + blockIdx.y;
  const size_t offset = blockIdx.y * grid.columns * grid.width + slice;
  const double sum = sum_columns(source.sums + offset, grid.width, columns, column);
  const double weight = rows.weight[row] * columns.weight[column];
  double entries = static_cast<double>(rows.end[row] - rows.begin[row]) *
                   static_cast<double>(columns.end[column] - columns.begin[column]);
  double absent = 0;
  if (source.counts != nullptr) entries = source.counts[row * columns.count + column];
  if (source.presence != nullptr) {
    entries = sum_columns(source.presence + offset, grid.width, columns, column);
    absent = NAN;
  }
  out[blockIdx.y * columns.count * grid.width + i] = static_cast<float>(entries > 0 ? weight * sum / entries : absent);
}

constexpr int kTile = static_cast<int>(kSliceTile);
constexpr int kStep = static_cast<int>(kFeatureStep);
constexpr int kPairThreads = 64;   // each computes 8 x 8 pairs
constexpr int kStepsInFloat = 16;  // 256 features

// The pair of tiles that a thread block computes, row <= column.
struct TilePair {
  int row = 0;
  int column = 0;
};
__device__ TilePair tile_pair(int index, int tiles) {
  TilePair pair;
  while (index >= tiles - pair.row) {
    index -= tiles - pair.row;
    ++pair.row;
  }
  pair.column = pair.row + index;
  return pair;
}

// Index within a tile of the i-th of a thread's 8 slices: four adjacent ones in each half of the tile, so that the
// threads of a warp read contiguous shared memory.
__device__ int slice_of(int thread, int i) {
  return (i / 4) * (kTile / 2) + thread * 4 + i % 4;
}

__device__ void copy_async(float* to, const float* from) {
  const auto shared = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from));
}

struct FeatureStep {
  float row[kStep][kTile];
  float column[kStep][kTile];
};

// Starts fetching the features of one step for both tiles.
__device__ void fetch(const float* features, size_t width, const TilePair& pair, FeatureStep& to) {
  for (int i = threadIdx.x; i < kStep * kTile / 4; i += kPairThreads) {
    const int feature = i / (kTile / 4);
    const int slice = i % (kTile / 4) * 4;
    const float* const from = features + feature * width + slice;
    copy_async(&to.row[feature][slice], from + pair.row * kTile);
    copy_async(&to.column[feature][slice], from + pair.column * kTile);
  }
  asm volatile("cp.async.commit_group;");
}

template <bool kSkipNan>
__device__ float difference(float x, float y) {
  const float d = fabsf(x - y);
  return kSkipNan ? fmaxf(d, 0.0F) : d;  // the maximum of NaN and a number is the number
}

template <bool kSkipNan>
__device__ void add_step(const FeatureStep& step, int row, int column, float (&sums)[8][8]) {
#pragma unroll
  for (int k = 0; k < kStep; ++k) {
    float x[8];
    float y[8];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      *reinterpret_cast<float4*>(x + 4 * half) =
          *reinterpret_cast<const float4*>(&step.row[k][slice_of(row, 4 * half)]);
      *reinterpret_cast<float4*>(y + 4 * half) =
          *reinterpret_cast<const float4*>(&step.column[k][slice_of(column, 4 * half)]);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int j = 0; j < 8; ++j) sums[i][j] += difference<kSkipNan>(x[i], y[j]);
    }
  }
}

template <bool kSkipNan>
__global__ void __launch_bounds__(kPairThreads)
    add_differences_kernel(const float* features, int steps, size_t width, PairSums out) {
  __shared__ __align__(16) FeatureStep buffers[2];
  const TilePair pair = tile_pair(static_cast<int>(blockIdx.x), static_cast<int>(width) / kTile);
  const auto splits = static_cast<int>(out.splits);
  const int begin = static_cast<int>(static_cast<long long>(steps) * blockIdx.y / splits);
  const int end = static_cast<int>(static_cast<long long>(steps) * (blockIdx.y + 1) / splits);
  const int row = threadIdx.x / 8;
  const int column = threadIdx.x % 8;
  long long* const totals = out.sums + (size_t{blockIdx.x} * out.splits + blockIdx.y) * (kTile * kTile);
  float sums[8][8] = {};
  const size_t step_size = kStep * width;
  if (begin < end) fetch(features + begin * step_size, width, pair, buffers[0]);
  for (int step = begin; step < end; ++step) {
    asm volatile("cp.async.wait_group 0;");
    __syncthreads();
    if (step + 1 < end) fetch(features + (step + 1) * step_size, width, pair, buffers[(step + 1 - begin) % 2]);
    add_step<kSkipNan>(buffers[(step - begin) % 2], row, column, sums);
    if ((step + 1 - begin) % kStepsInFloat != 0 && step + 1 < end) continue;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        totals[(i * 8 + j) * kPairThreads + threadIdx.x] += __double2ll_rn(double{sums[i][j]} * out.scale);
        sums[i][j] = 0;
      }
    }
  }
}

__global__ void __launch_bounds__(kThreads)
    finish_sums_kernel(PairSums sums, int tiles, size_t slices, std::int64_t* totals) {
  const int i = blockIdx.y * kThreads + threadIdx.x;  // within the tile, in the order of add_differences
  const TilePair pair = tile_pair(static_cast<int>(blockIdx.x), tiles);
  const int thread = i % kPairThreads;
  const int place = i / kPairThreads;
  const size_t row = pair.row * kTile + slice_of(thread / 8, place / 8);
  const size_t column = pair.column * kTile + slice_of(thread % 8, place % 8);
  if (row >= slices || column >= slices) return;
  const long long* const from = sums.sums + size_t{blockIdx.x} * sums.splits * (kTile * kTile) + i;
  long long total = 0;
  for (size_t split = 0; split < sums.splits; ++split) total += from[split * (kTile * kTile)];
  totals[row * slices + column] = total;
  if (pair.row != pair.column) totals[column * slices + row] = total;
}

}  // namespace

void place_entries(const float* entries, std::size_t first, std::size_t count, const TensorOrder& order,
                   const PresentEntries& present, const SliceGrid& grid, float* values, std::uint8_t* presence,
                   cudaStream_t stream) {
  place_entries_kernel<<<blocks_for(count), kThreads, 0, stream>>>(entries, first, count, order, present, grid, values,
                                                                   presence);
  check_launch("place_entries");
}

void center_entries(const SliceGrid& grid, float* values, cudaStream_t stream) {
  center_entries_kernel<<<blocks_for(grid.rows * grid.columns * 32), kThreads, 0, stream>>>(grid, values);
  check_launch("center_entries");
}

void find_largest(const SliceGrid& grid, const float* values, float* largest, cudaStream_t stream) {
  constexpr unsigned kMaxBlocks = 1024;
  const unsigned blocks = blocks_for(grid.size()) < kMaxBlocks ? blocks_for(grid.size()) : kMaxBlocks;
  check(cudaMemsetAsync(largest, 0, sizeof *largest, stream), "cannot clear memory");
  find_largest_kernel<<<blocks, kThreads, 0, stream>>>(values, grid.size(), reinterpret_cast<int*>(largest));
  check_launch("find_largest");
}

void sum_rows(const SliceGrid& grid, const float* values, const DeviceFolders& rows, std::size_t first,
              std::size_t count, float* out, cudaStream_t stream) {
  const dim3 blocks(blocks_for(grid.columns * grid.width), static_cast<unsigned>(count));
  sum_rows_kernel<<<blocks, kThreads, 0, stream>>>(grid, values, rows, first, out);
  check_launch("sum_rows");
}

void sum_rows(const SliceGrid& grid, const std::uint8_t* presence, const DeviceFolders& rows, std::size_t first,
              std::size_t count, float* out, cudaStream_t stream) {
  const dim3 blocks(blocks_for(grid.columns * grid.width), static_cast<unsigned>(count));
  sum_rows_kernel<<<blocks, kThreads, 0, stream>>>(grid, presence, rows, first, out);
  check_launch("sum_rows");
}

void make_features(const SliceGrid& grid, const FeatureSource& source, const DeviceFolders& rows, std::size_t first,
                   std::size_t count, const DeviceFolders& columns, float* out, cudaStream_t stream) {
  const dim3 blocks(blocks_for(columns.count * grid.width), static_cast<unsigned>(count));
  make_features_kernel<<<blocks, kThreads, 0, stream>>>(grid, source, rows, first, columns, out);
  check_launch("make_features");
}

PairSums PairSums::plan(std::size_t width) noexcept {
  const std::size_t side = width / kSliceTile;
  PairSums sums;
  sums.tiles = side * (side + 1) / 2;
  // Enough thread blocks for any device; independent of the device, so that all devices add in the same order.
  constexpr std::size_t kBlocks = 2048;
  sums.splits = sums.tiles >= kBlocks ? 1 : (kBlocks / sums.tiles < 256 ? kBlocks / sums.tiles : 256);
  return sums;
}

void add_differences(const float* features, std::size_t count, std::size_t width, bool skip_nan, const PairSums& sums,
                     cudaStream_t stream) {
  const dim3 blocks(static_cast<unsigned>(sums.tiles), static_cast<unsigned>(sums.splits));
  const int steps = static_cast<int>(count / kFeatureStep);
  if (skip_nan) {
    add_differences_kernel<true><<<blocks, kPairThreads, 0, stream>>>(features, steps, width, sums);
  } else {
    add_differences_kernel<false><<<blocks, kPairThreads, 0, stream>>>(features, steps, width, sums);
  }
  check_launch("add_differences");
}

void finish_sums(const PairSums& sums, std::size_t slices, std::int64_t* totals, cudaStream_t stream) {
  const dim3 blocks(static_cast<unsigned>(sums.tiles), kTile * kTile / kThreads);
  int tiles = 1;
  while (static_cast<std::size_t>(tiles) * static_cast<std::size_t>(tiles + 1) / 2 < sums.tiles) ++tiles;
  finish_sums_kernel<<<blocks, kThreads, 0, stream>>>(sums, tiles, slices, totals);
  check_launch("finish_sums");
}

}  // namespace headscope::cuda
