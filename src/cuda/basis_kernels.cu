#include "cuda/basis_kernels.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "cuda/device.h"

namespace headscope::cuda {
namespace {

constexpr int kThreads = 1024;
constexpr int kWarps = kThreads / 32;
constexpr int kGrid = 2048;  // blocks of kernels that process long arrays
// Rounding error of a rotation, relative to the largest eigenvalue: smaller entries are noise.
constexpr double kEpsilon = 0x1p-53;
constexpr int kSweeps = 40;  // twice what any matrix has needed so far

// Returns the sum over all threads of the block, always added in the same order, to every thread.
__device__ double block_sum(double value) {
  __shared__ double sums[kWarps];
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffff, value, offset);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  double total = 0;
  for (int i = 0; i < kWarps; ++i) total += sums[i];
  __syncthreads();
  return total;
}

__device__ double block_max(double value) {
  __shared__ double values[kWarps];
  for (int offset = 16; offset > 0; offset /= 2) value = fmax(value, __shfl_xor_sync(0xffffffff, value, offset));
  if (threadIdx.x % 32 == 0) values[threadIdx.x / 32] = value;
  __syncthreads();
  double largest = values[0];
  for (int i = 1; i < kWarps; ++i) largest = fmax(largest, values[i]);
  __syncthreads();
  return largest;
}

__device__ void block_copy(const double* from, int count, double* to) {
  for (int i = threadIdx.x; i < count; i += kThreads) to[i] = from[i];
  __syncthreads();
}

__global__ void widen_kernel(const float* in, size_t count, double* out) {
  const size_t step = size_t{gridDim.x} * blockDim.x;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) out[i] = double{in[i]};
}

// Gaussian elimination of [G | 1], both halves in one square: above the diagonal the rows of R still to be computed,
// below it the rows of R^-T so far. Returns whether every pivot was positive. `row` is scratch for h numbers.
__device__ bool eliminate(double* m, int h, int rank, double* row) {
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  for (int j = 0; j < h; ++j) {
    const double pivot = j < rank ? m[j * h + j] : 1;
    if (!(pivot > 0) || !isfinite(pivot)) return false;
    const double scale = 1 / sqrt(pivot);
    for (int k = threadIdx.x; k < h; k += kThreads) row[k] = k == j ? scale : m[j * h + k] * scale;
    __syncthreads();
    for (int i = j + warp; i < h; i += kWarps) {
      const double factor = row[i];
      for (int k = lane; k < h; k += 32) {
        if (i == j) {
          m[i * h + k] = k <= j ? row[k] : 0;
        } else if (k == j) {
          m[i * h + k] = -factor * row[k];
        } else if (k < j || k >= i) {
          m[i * h + k] -= factor * row[k];
        }
      }
    }
    __syncthreads();
  }
  return true;
}

template <bool kShared>
__global__ void __launch_bounds__(kThreads)
    invert_cholesky_kernel(double* grams, int h, const int* ranks, double* conditions) {
  extern __shared__ double memory[];
  double* const gram = grams + size_t{blockIdx.x} * h * h;
  double* const m = kShared ? memory + h : gram;
  const int rank = ranks == nullptr ? h : ranks[blockIdx.x];
  if (rank < 0) {
    if (threadIdx.x == 0) conditions[blockIdx.x] = INFINITY;
    return;
  }
  if (kShared) block_copy(gram, h * h, m);
  double diagonal = 0;
  for (int i = threadIdx.x; i < h; i += kThreads) diagonal += m[i * h + i];
  const double trace = block_sum(diagonal);  // ||R||_F^2
  const bool inverted = eliminate(m, h, rank, memory);
  double squares = 0;
  for (int i = threadIdx.x; inverted && i < h * h; i += kThreads) squares += m[i] * m[i];
  const double inverse = block_sum(squares);
  if (threadIdx.x == 0) conditions[blockIdx.x] = inverted && isfinite(trace) ? sqrt(trace * inverse) : INFINITY;
  if (kShared) block_copy(m, h * h, gram);
}

// The rotation of one pair of rows and columns, p < q.
struct Rotation {
  double cosine;
  double sine;
  int p;
  int q;
};

// Returns the rotation that zeroes entry (p, q) for pair `t` of round `round` in a round-robin schedule of `players`
// (even), in which everybody meets everybody; the identity if the entry is small.
__device__ Rotation find_rotation(const double* g, int h, int players, int round, int t, double small) {
  const int others = players - 1;
  const int a = t == 0 ? others : (round + t) % others;
  const int b = (round - t + others) % others;
  Rotation rotation{1, 0, min(a, b), max(a, b)};
  if (rotation.q >= h) return rotation;  // the dummy player that makes the number even
  const double off = g[rotation.p * h + rotation.q];
  if (!(fabs(off) > small)) return rotation;
  const double theta = (g[rotation.q * (h + 1)] - g[rotation.p * (h + 1)]) / (2 * off);
  const double tangent = copysign(1 / (fabs(theta) + sqrt(theta * theta + 1)), theta);
  rotation.cosine = 1 / sqrt(tangent * tangent + 1);
  rotation.sine = tangent * rotation.cosine;
  return rotation;
}

__device__ void turn(const Rotation& rotation, double* at_p, double* at_q) {
  const double a = *at_p;
  const double b = *at_q;
  *at_p = rotation.cosine * a - rotation.sine * b;
  *at_q = rotation.sine * a + rotation.cosine * b;
}

// Applies one round of rotations. Returns whether this thread found an entry that was not small. `rotations` is scratch
// for players / 2.
__device__ bool rotate(double* g, double* vectors, int h, int players, int round, double small, Rotation* rotations) {
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  bool found = false;
  for (int t = threadIdx.x; t < players / 2; t += kThreads) {
    rotations[t] = find_rotation(g, h, players, round, t, small);
    found |= rotations[t].sine != 0;
  }
  __syncthreads();
  for (int k = warp; k < h; k += kWarps) {
    for (int t = lane; t < players / 2; t += 32) {
      const Rotation rotation = rotations[t];
      if (rotation.sine != 0) turn(rotation, g + k * h + rotation.p, g + k * h + rotation.q);
    }
  }
  __syncthreads();
  for (int t = warp; t < players / 2; t += kWarps) {
    const Rotation rotation = rotations[t];
    if (rotation.sine == 0) continue;
    for (int k = lane; k < h; k += 32) {
      turn(rotation, g + rotation.p * h + k, g + rotation.q * h + k);
      turn(rotation, vectors + rotation.p * h + k, vectors + rotation.q * h + k);
    }
  }
  __syncthreads();
  return found;
}

// Writes eigenvalues to the diagonal of g and eigenvectors to the rows of `vectors`. Returns whether it converged.
__device__ bool diagonalize(double* g, double* vectors, int h, Rotation* rotations) {
  const int players = h + h % 2;
  for (int i = threadIdx.x; i < h * h; i += kThreads) vectors[i] = i % (h + 1) == 0;
  double diagonal = 0;
  bool finite = true;
  for (int i = threadIdx.x; i < h; i += kThreads) {
    diagonal = fmax(diagonal, g[i * h + i]);
    finite = finite && isfinite(g[i * h + i]);
  }
  const double small = kEpsilon * block_max(diagonal);
  if (!__syncthreads_and(finite)) return false;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool found = false;
    for (int round = 0; round < players - 1; ++round) {
      found |= rotate(g, vectors, h, players, round, small, rotations);
    }
    if (!__syncthreads_or(found)) return true;
  }
  return false;
}

// Writes the scaled leading eigenvectors, largest first, followed by zeros. Returns their number.
__device__ int write_leading(const double* g, const double* vectors, int h, int most, double tolerance, double noise,
                             double* out) {
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  double largest = 0;
  for (int i = threadIdx.x; i < h; i += kThreads) largest = fmax(largest, g[i * h + i]);
  largest = block_max(largest);
  const double floor = fmax(tolerance * tolerance * largest, noise * noise);
  int kept = 0;
  for (int e = warp; e < h; e += kWarps) {
    const double value = g[e * h + e];
    int place = 0;
    for (int i = 0; i < h; ++i) place += g[i * h + i] > value || (g[i * h + i] == value && i < e);
    const bool counts = value > floor && place < most;
    const double scale = counts ? 1 / sqrt(value) : 0;
    for (int k = lane; k < h; k += 32) out[place * h + k] = scale * vectors[e * h + k];
    kept += counts && lane == 0;
  }
  return static_cast<int>(block_sum(kept));
}

template <bool kShared>
__global__ void __launch_bounds__(kThreads)
    reveal_ranks_kernel(double tolerance, double condition, int most, int h, const double* noise,
                        const double* conditions, double* grams, double* vectors, double* transforms, int* ranks) {
  extern __shared__ double memory[];  // NOLINT(readability-redundant-declaration): each kernel declares its own
  const size_t offset = size_t{blockIdx.x} * h * h;
  if (conditions[blockIdx.x] < condition) {
    if (threadIdx.x == 0) ranks[blockIdx.x] = h;
    return;
  }
  auto* const rotations = reinterpret_cast<Rotation*>(memory);
  double* const g = kShared ? reinterpret_cast<double*>(rotations + (h + 1) / 2) : grams + offset;
  if (kShared) block_copy(grams + offset, h * h, g);
  const bool converged = diagonalize(g, vectors + offset, h, rotations);
  const int rank =
      converged ? write_leading(g, vectors + offset, h, most, tolerance, noise[blockIdx.x], transforms + offset) : -1;
  if (threadIdx.x == 0) ranks[blockIdx.x] = rank;
}

// Divides each matrix by its Frobenius norm; doubles its logarithm and adds that of the norm.
__global__ void __launch_bounds__(kThreads) normalize_kernel(double* matrices, int size, double* logarithms) {
  double* const matrix = matrices + size_t{blockIdx.x} * size;
  double squares = 0;
  for (int i = threadIdx.x; i < size; i += kThreads) squares += matrix[i] * matrix[i];
  const double norm = sqrt(block_sum(squares));
  for (int i = threadIdx.x; i < size; i += kThreads) matrix[i] /= norm;
  if (threadIdx.x == 0) logarithms[blockIdx.x] = 2 * logarithms[blockIdx.x] + log(norm);
}

__global__ void bound_conditions_kernel(const double* logarithms, int count, double power, const double* noise,
                                        double* conditions) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    // A head without R^-1 keeps its infinite condition, whatever was computed from it.
    if (!isfinite(conditions[i])) continue;
    conditions[i] = fmin(conditions[i], exp((logarithms[i] + logarithms[count + i]) / (2 * power)));
    if (noise == nullptr) continue;
    if (!(noise[i] * exp(logarithms[count + i] / (2 * power)) < 1)) conditions[i] = INFINITY;
  }
}

__global__ void note_failures_kernel(const double* conditions, int count, int* ranks) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    if (!isfinite(conditions[i])) ranks[i] = -1;
  }
}

__global__ void __launch_bounds__(kThreads)
    gram_traces_kernel(const double* grams, const double* squares, int h, double* traces) {
  const double* const gram = grams + size_t{blockIdx.x} * h * h;
  const double* const squared = squares + size_t{blockIdx.x} * h * h;
  double trace = 0;
  double square = 0;
  double cube = 0;
  for (int i = threadIdx.x; i < h * h; i += kThreads) {
    if (i % (h + 1) == 0) trace += gram[i];
    square += gram[i] * gram[i];
    cube += squared[i] * gram[i];
  }
  trace = block_sum(trace);
  square = block_sum(square);
  cube = block_sum(cube);
  if (threadIdx.x != 0) return;
  traces[3 * blockIdx.x] = trace;
  traces[3 * blockIdx.x + 1] = square;
  traces[3 * blockIdx.x + 2] = cube;
}

__device__ void put(float* out, double value) {
  *out = static_cast<float>(value);
}

// A float whose last 13 bits are zero. The matrix units would truncate them, and a product of factors that were all
// truncated is too small (by 1.4e-3 in its square).
struct Tf32 {
  float value;
};
__device__ void put(Tf32* out, double value) {
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(*reinterpret_cast<unsigned*>(&out->value)) : "f"(static_cast<float>(value)));
}

__device__ void put(__half* out, double value) {
  *out = __float2half_rn(kFp16Scale * static_cast<float>(value));
}

__device__ void put(__nv_bfloat16* out, double value) {
  *out = __float2bfloat16_rn(static_cast<float>(value));
}

template <typename T>
__global__ void store_factors_kernel(const double* factors, size_t size, Divisor divisor, const double* traces,
                                     T* out) {
  const size_t offset = blockIdx.y * size;
  double scale = 1;
  if (divisor == Divisor::kRootOfTrace) scale = sqrt(traces[3 * blockIdx.y]);
  if (divisor == Divisor::kFourthRootOfSquare) scale = sqrt(sqrt(traces[3 * blockIdx.y + 1]));
  if (scale == 0) scale = 1;
  const size_t step = size_t{gridDim.x} * blockDim.x;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < size; i += step) {
    put(out + offset + i, factors[offset + i] / scale);
  }
}

// Requests dynamic shared memory above the default limit of 48 KB.
template <typename Kernel>
void allow_shared(Kernel* kernel, std::size_t bytes) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "cannot reserve shared memory");
}

}  // namespace

void widen(const float* in, std::size_t count, double* out, cudaStream_t stream) {
  widen_kernel<<<kGrid, 256, 0, stream>>>(in, count, out);
  check_launch("widen");
}

void invert_cholesky(double* grams, std::size_t h, std::size_t count, const int* ranks, std::size_t shared_memory,
                     double* conditions, cudaStream_t stream) {
  const std::size_t row = h * sizeof(double);
  const std::size_t all = row + h * h * sizeof(double);
  const auto blocks = static_cast<unsigned>(count);
  // The block's reductions need a few hundred bytes more.
  if (all + 1024 <= shared_memory) {
    allow_shared(invert_cholesky_kernel<true>, all);
    invert_cholesky_kernel<true><<<blocks, kThreads, all, stream>>>(grams, static_cast<int>(h), ranks, conditions);
  } else {
    invert_cholesky_kernel<false><<<blocks, kThreads, row, stream>>>(grams, static_cast<int>(h), ranks, conditions);
  }
  check_launch("invert_cholesky");
}

void reveal_ranks(const RankRule& rule, const double* conditions, std::size_t shared_memory, double* grams,
                  double* vectors, double* transforms, int* ranks, cudaStream_t stream) {
  const std::size_t rotations = (rule.h + 1) / 2 * sizeof(Rotation);
  const std::size_t all = rotations + rule.h * rule.h * sizeof(double);
  const auto blocks = static_cast<unsigned>(rule.count);
  const int h = static_cast<int>(rule.h);
  const int most = static_cast<int>(rule.most);
  if (all + 1024 <= shared_memory) {
    allow_shared(reveal_ranks_kernel<true>, all);
    reveal_ranks_kernel<true><<<blocks, kThreads, all, stream>>>(rule.tolerance, rule.condition, most, h, rule.noise,
                                                                 conditions, grams, vectors, transforms, ranks);
  } else {
    reveal_ranks_kernel<false><<<blocks, kThreads, rotations, stream>>>(
        rule.tolerance, rule.condition, most, h, rule.noise, conditions, grams, vectors, transforms, ranks);
  }
  check_launch("reveal_ranks");
}

void normalize(double* matrices, std::size_t h, std::size_t count, double* logarithms, cudaStream_t stream) {
  normalize_kernel<<<static_cast<unsigned>(count), kThreads, 0, stream>>>(matrices, static_cast<int>(h * h),
                                                                          logarithms);
  check_launch("normalize");
}

void bound_conditions(const double* logarithms, std::size_t count, double power, const double* noise,
                      double* conditions, cudaStream_t stream) {
  bound_conditions_kernel<<<1, 256, 0, stream>>>(logarithms, static_cast<int>(count), power, noise, conditions);
  check_launch("bound_conditions");
}

void note_failures(const double* conditions, std::size_t count, int* ranks, cudaStream_t stream) {
  note_failures_kernel<<<1, 256, 0, stream>>>(conditions, static_cast<int>(count), ranks);
  check_launch("note_failures");
}

void gram_traces(const double* grams, const double* squares, std::size_t h, std::size_t count, double* traces,
                 cudaStream_t stream) {
  gram_traces_kernel<<<static_cast<unsigned>(count), kThreads, 0, stream>>>(grams, squares, static_cast<int>(h),
                                                                            traces);
  check_launch("gram_traces");
}

void store_factors(const double* factors, std::size_t size, std::size_t count, Divisor divisor, const double* traces,
                   Rounding rounding, void* out, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((size + 1023) / 1024), static_cast<unsigned>(count));
  if (rounding == Rounding::kFloat) {
    store_factors_kernel<<<grid, 256, 0, stream>>>(factors, size, divisor, traces, static_cast<float*>(out));
  } else if (rounding == Rounding::kTf32) {
    store_factors_kernel<<<grid, 256, 0, stream>>>(factors, size, divisor, traces, static_cast<Tf32*>(out));
  } else if (rounding == Rounding::kFp16) {
    store_factors_kernel<<<grid, 256, 0, stream>>>(factors, size, divisor, traces, static_cast<__half*>(out));
  } else {
    store_factors_kernel<<<grid, 256, 0, stream>>>(factors, size, divisor, traces, static_cast<__nv_bfloat16*>(out));
  }
  check_launch("store_factors");
}

}  // namespace headscope::cuda
