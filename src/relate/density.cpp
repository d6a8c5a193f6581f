#include "relate/density.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "headscope/base/parallel.h"
#include "headscope/linalg/block_norms.h"
#include "headscope/linalg/matrix_product.h"
#include "headscope/linalg/orthonormal_basis.h"
#include "headscope/linalg/symmetric_eigen.h"
#include "headscope/relate/rank_tolerance.h"

namespace headscope {
namespace {

constexpr std::size_t kVectorsAtOnce = 2048;  // vectors read at a time
constexpr std::size_t kMostDimension = 512;   // up to which the rank of a wide matrix is looked for
constexpr std::size_t kMostColumns = 8;       // ... per dimension

bool has_wide_basis(std::size_t d, std::size_t count) {
  return d <= kMostDimension && count <= kMostColumns * d;
}

// Sums of fixed strips, added in order: the same for any number of threads.
template <typename Term>
double ordered_sum(std::size_t size, const Term& term) {
  constexpr std::size_t kStrip = 1 << 16;
  std::vector<double> sums((size + kStrip - 1) / kStrip);
  parallel_for(sums.size(), [&](std::size_t strip) {
    double sum = 0;
    for (std::size_t i = strip * kStrip; i < std::min(size, (strip + 1) * kStrip); ++i) sum += term(i);
    sums[strip] = sum;
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

double dot(std::span<const float> a, std::span<const float> b) {
  return ordered_sum(a.size(), [&](std::size_t i) { return static_cast<double>(a[i]) * static_cast<double>(b[i]); });
}

MatrixView rows_of(std::span<const float> values, std::size_t d) {
  return {values.data(), values.size() / d, d, d};
}

// `vectors` times rho.
Buffer<float> times(std::span<const float> vectors, const Density& density) {
  Buffer<float> product(vectors.size());
  parallel_multiply(rows_of(vectors, density.d), rows_of(density.values.values(), density.d),
                    {product.data(), vectors.size() / density.d, density.d, density.d});
  return product;
}

void scale(std::span<float> values, double factor) {
  for (float& value : values) value = static_cast<float>(static_cast<double>(value) * factor);
}

// The columns themselves, fewer than d.
void keep_columns(StreamMatrix& matrix, Density& density) {
  const std::size_t d = density.d;
  density.values = Buffer<float>(density.count * d);
  matrix.read(0, density.count, density.values.values());
  const double square = dot(density.values.values(), density.values.values());
  if (!std::isfinite(square)) matrix.reject_non_finite();
  if (square == 0) {
    density.values = {};
    return;
  }
  const double tolerance = rank_tolerance(matrix.stored_type(), d, density.count);
  density.basis = Buffer<float>(density.count * d);
  density.rank = orthonormal_basis(density.values.values(), d, density.count, tolerance, density.basis.values());
  scale(density.values.values(), 1 / std::sqrt(square));
  density.moments = gram_moments(density.values.values(), d, density.count);
}

// The basis of a matrix of at least d columns, from A A^T in double; none if it has full rank.
void find_wide_basis(const DoubleMatrix& gram, double tolerance, Density& density) {
  const SymmetricEigen eigen = symmetric_eigen(gram);
  const double largest = std::max(0.0, eigen.values.back());
  const auto counts = [&](double value) { return std::sqrt(std::max(0.0, value)) > tolerance * std::sqrt(largest); };
  const auto rank = static_cast<std::size_t>(std::ranges::count_if(eigen.values, counts));
  if (rank == density.d) return;
  density.rank = rank;
  density.basis = Buffer<float>(rank * density.d);
  for (std::size_t k = 0; k < rank; ++k) {
    const std::span<const double> vector = eigen.vectors.row(density.d - 1 - k);
    std::ranges::transform(vector, density.basis.data() + k * density.d,
                           [](double x) { return static_cast<float>(x); });
  }
}

// Adds the block's vectors to A A^T in double. Only for small matrices: on one thread.
void add_wide(std::span<const float> block, std::size_t d, DoubleMatrix& gram) {
  const std::size_t count = block.size() / d;
  std::vector<float> transposed(block.size());
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < d; ++j) transposed[j * count + i] = block[i * d + j];
  }
  const std::vector<double> upper = gram_matrix(transposed, count, d);  // column-major
  for (std::size_t j = 0; j < d; ++j) {
    for (std::size_t i = 0; i <= j; ++i) {
      gram(i, j) += upper[j * d + i];
      if (i != j) gram(j, i) += upper[j * d + i];
    }
  }
}

// rho itself.
void keep_square(StreamMatrix& matrix, Density& density) {
  const std::size_t d = density.d;
  const bool wide_basis = has_wide_basis(d, density.count);
  density.values = Buffer<float>(d * d);
  std::ranges::fill(density.values.values(), 0.0F);
  Buffer<float> buffer(std::min(kVectorsAtOnce, density.count) * d);
  DoubleMatrix exact(wide_basis ? d : 0, wide_basis ? d : 0);
  for (std::size_t first = 0; first < density.count; first += kVectorsAtOnce) {
    const std::span<float> block = buffer.values().first(std::min(kVectorsAtOnce, density.count - first) * d);
    matrix.read(first, block.size() / d, block);
    const MatrixView rows = rows_of(block, d);
    parallel_multiply(rows.transposed(), rows, {density.values.data(), d, d, d}, 1, 1);
    if (wide_basis) add_wide(block, d, exact);
  }
  const double trace =
      ordered_sum(d, [&](std::size_t i) { return static_cast<double>(density.values.data()[i * d + i]); });
  if (!std::isfinite(trace)) matrix.reject_non_finite();
  if (trace == 0) {
    density.values = {};
    return;
  }
  const double tolerance = std::max(1e-7, rank_tolerance(matrix.stored_type(), d, density.count));
  if (wide_basis) find_wide_basis(exact, tolerance, density);
  scale(density.values.values(), 1 / trace);
  const std::span<const float> rho = density.values.values();
  density.moments = {1, dot(rho, rho), dot(times(rho, density).values(), rho)};
}

// ||A^T B||_F^2 of one matrix with every matrix of a stack.
void block_norms(std::span<const float> vectors, const FactorStack& stack, std::span<double> out) {
  std::vector<float> squares(stack.count);
  if (!vectors.empty()) {
    cpu_block_norms()->compute({vectors.data(), 1, vectors.size() / stack.d, stack.d}, stack, squares.data(),
                               stack.count);
  }
  std::ranges::copy(squares, out.begin());
}

FactorStack stack_of(const LayerFactors& heads, std::size_t d) {
  return {heads.values.data(), heads.heads, heads.values.size() / (heads.heads * d), d};
}

}  // namespace

Density make_density(StreamMatrix matrix, std::size_t d) {
  Density density;
  density.d = d;
  density.count = matrix.count();
  density.square = density.count >= d;
  if (density.square) {
    keep_square(matrix, density);
  } else {
    keep_columns(matrix, density);
  }
  if (density.is_zero()) {
    density.rank = 0;
    density.moments = {};
  }
  return density;
}

DensityMemory density_memory(const StreamMatrix& matrix, std::size_t d) noexcept {
  const std::size_t count = matrix.count();
  if (count < d) {
    return {2 * count * d * sizeof(float), matrix.scratch_bytes() + (4 * d + 3 * count) * count * sizeof(double)};
  }
  const std::size_t exact =
      has_wide_basis(d, count) ? 4 * d * d * sizeof(double) + 3 * kVectorsAtOnce * d * sizeof(double) : 0;
  return {2 * d * d * sizeof(float),
          matrix.scratch_bytes() + (std::min(kVectorsAtOnce, count) * d + d * d) * sizeof(float) + exact};
}

double inner_product(const Density& a, const Density& b) {
  if (a.is_zero() || b.is_zero()) return 0;
  if (a.square && b.square) return dot(a.values.values(), b.values.values());
  if (a.square || b.square) {
    const Density& square = a.square ? a : b;
    const Density& columns = a.square ? b : a;
    return dot(times(columns.values.values(), square).values(), columns.values.values());
  }
  double result = 0;
  block_norms(a.values.values(), {b.values.data(), 1, b.count, b.d}, std::span(&result, 1));
  return result;
}

double projection_kernel(const Density& a, const Density& b) {
  if (*a.rank == 0 || *b.rank == 0) return 0;
  double result = 0;
  block_norms(a.basis.values().first(*a.rank * a.d), {b.basis.data(), 1, *b.rank, b.d}, std::span(&result, 1));
  return result;
}

void inner_products(const Density& density, const LayerFactors& heads, std::span<double> out) {
  std::ranges::fill(out, 0.0);
  if (density.is_zero()) return;
  const std::size_t size = heads.values.size() / heads.heads;
  if (density.square) {
    const Buffer<float> product = times(heads.values.values(), density);
    parallel_for(heads.heads, [&](std::size_t head) {
      out[head] = dot(product.values().subspan(head * size, size), heads.values.values().subspan(head * size, size));
    });
  } else {
    block_norms(density.values.values(), stack_of(heads, density.d), out);
  }
  for (std::size_t head = 0; head < heads.heads; ++head) {
    out[head] = heads.ranks[head] == 0 ? 0 : out[head] / static_cast<double>(heads.ranks[head]);
  }
}

void projection_kernels(const Density& density, const LayerFactors& heads, std::span<double> out) {
  std::ranges::fill(out, 0.0);
  if (*density.rank == 0) return;
  block_norms(density.basis.values().first(*density.rank * density.d), stack_of(heads, density.d), out);
}

}  // namespace headscope
