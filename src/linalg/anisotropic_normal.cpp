#include "headscope/linalg/anisotropic_normal.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "headscope/base/error.h"
#include "headscope/base/parallel.h"
#include "linalg/lapack.h"
#include "linalg/parallel_cholesky.h"

namespace headscope {
namespace {

constexpr std::size_t kTile = 256;
constexpr double kRidge = 1e-6;
constexpr double kCeiling = 1e-3;

// Calls body(begin, end) for tiles of columns.
template <typename Body>
void for_column_tiles(std::size_t d, const Body& body) {
  parallel_for((d + kTile - 1) / kTile, [&](std::size_t i) { body(i * kTile, std::min(d, (i + 1) * kTile)); });
}

// The upper triangle of (1 + kCeiling) I - R R^T, for an upper triangular R whose other half is zero.
std::vector<double> complement(std::size_t d, const std::vector<double>& r) {
  std::vector<double> result(d * d);
  const std::size_t tiles = (d + kTile - 1) / kTile;
  parallel_for(tiles * tiles, [&](std::size_t index) {
    const std::size_t i = index / tiles * kTile;
    const std::size_t j = index % tiles * kTile;
    if (i > j) return;  // columns of R before j are zero in the rows of tile j
    lapack::gemm(false, true, std::min(kTile, d - i), std::min(kTile, d - j), d - j, -1.0, r.data() + i + j * d, d,
                 r.data() + j + j * d, d, 0.0, result.data() + i + j * d, d);
  });
  for (std::size_t i = 0; i < d; ++i) result[i * d + i] += 1 + kCeiling;
  return result;
}

}  // namespace

CovarianceSum::CovarianceSum(std::size_t d) : d_(d), upper_(d * d) {
  std::ranges::fill(upper_.values(), 0.0F);
}

void CovarianceSum::add(std::span<const float> vectors, std::size_t count) {
  assert(vectors.size() == count * d_);
  const std::size_t tiles = (d_ + kTile - 1) / kTile;
  parallel_for(tiles * tiles, [&](std::size_t index) {
    const std::size_t i = index / tiles * kTile;
    const std::size_t j = index % tiles * kTile;
    if (i > j) return;
    lapack::gemm(false, true, std::min(kTile, d_ - i), std::min(kTile, d_ - j), count, 1.0F, vectors.data() + i, d_,
                 vectors.data() + j, d_, 1.0F, upper_.data() + i + j * d_, d_);
  });
}

double CovarianceSum::trace() const noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < d_; ++i) sum += static_cast<double>(upper_.data()[i * d_ + i]);
  return sum;
}

double CovarianceSum::inner(const CovarianceSum& other) const noexcept {
  assert(other.d_ == d_);
  double sum = 0;
  for (std::size_t j = 0; j < d_; ++j) {
    const float* a = upper_.data() + j * d_;
    const float* b = other.upper_.data() + j * d_;
    double above = 0;
    for (std::size_t i = 0; i < j; ++i) above += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    sum += 2 * above + static_cast<double>(a[j]) * static_cast<double>(b[j]);
  }
  return sum;
}

AnisotropicNormal::AnisotropicNormal(const CovarianceSum& sum, double count) : d_(sum.d_), root_(sum.d_ * sum.d_) {
  const double trace = sum.trace() / count;
  const double ridge = trace > 0 ? kRidge * trace / static_cast<double>(d_) : kRidge;
  std::vector<double> r(d_ * d_);
  for (std::size_t j = 0; j < d_; ++j) {
    for (std::size_t i = 0; i <= j; ++i) r[j * d_ + i] = static_cast<double>(sum.upper_.data()[j * d_ + i]) / count;
    r[j * d_ + j] += ridge;
  }
  bool positive = parallel_cholesky(d_, r.data());
  for (std::size_t j = 0; j < d_; ++j) std::fill_n(r.data() + j * d_ + j + 1, d_ - j - 1, 0.0);
  std::vector<double> s = complement(d_, r);
  positive = positive && parallel_cholesky(d_, s.data());
  if (!positive) {
    throw Error(ErrorKind::kNumeric, "the mean projector of the heads does not have eigenvalues between 0 and 1");
  }
  for_column_tiles(d_, [&](std::size_t begin, std::size_t end) {
    lapack::solve_left_upper_transposed(d_, end - begin, s.data(), d_, r.data() + begin * d_, d_);
  });
  std::ranges::transform(r, root_.data(), [](double value) { return static_cast<float>(value); });
}

void AnisotropicNormal::sample(Random& random, std::span<float> vectors, std::size_t count) const {
  assert(vectors.size() == count * d_);
  std::vector<float> normal(vectors.size());
  random.fill_normal(normal);
  lapack::gemm(true, false, d_, count, d_, 1.0F, root_.data(), d_, normal.data(), d_, 0.0F, vectors.data(), d_);
}

}  // namespace headscope
