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

AnisotropicNormal::AnisotropicNormal(CovarianceSum sum) : d_(sum.d_), root_(sum.d_ * sum.d_) {
  std::vector<double> matrix(sum.upper_.values().begin(), sum.upper_.values().end());
  double trace = 0;
  for (std::size_t i = 0; i < d_; ++i) trace += matrix[i * d_ + i];
  const double ridge = trace > 0 ? kRidge * trace / static_cast<double>(d_) : 1;
  for (std::size_t i = 0; i < d_; ++i) matrix[i * d_ + i] += ridge;
  if (!parallel_cholesky(d_, matrix.data())) {
    throw Error(ErrorKind::kNumeric, "the mean projector of the heads is not positive definite");
  }
  std::ranges::transform(matrix, root_.data(), [](double value) { return static_cast<float>(value); });
}

void AnisotropicNormal::sample(Random& random, std::span<float> vectors, std::size_t count) const {
  assert(vectors.size() == count * d_);
  random.fill_normal(vectors);
  lapack::multiply_left_upper_transposed(d_, count, root_.data(), d_, vectors.data(), d_);
}

}  // namespace headscope
