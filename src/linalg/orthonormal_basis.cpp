#include "headscope/linalg/orthonormal_basis.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "headscope/base/error.h"
#include "linalg/lapack.h"

namespace headscope {
namespace {

constexpr double kSmallestTolerance = 1e-7;
// Cholesky QR gives a basis that is orthonormal to about condition^2 * 2^-53; above this condition number it is applied
// twice.
constexpr double kConditionForOnce = 1e3;

// Contiguous columns of length d, in double; the number of columns may shrink.
class Columns {
 public:
  Columns(std::span<const float> vectors, std::size_t d, std::size_t count)
      : d_(d), count_(count), values_(vectors.begin(), vectors.end()) {}

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::span<const double> values() const noexcept { return values_; }

  // Upper triangle of the Gram matrix.
  [[nodiscard]] std::vector<double> gram() const {
    std::vector<double> gram(count_ * count_);
    lapack::syrk_upper(/*transpose=*/true, count_, d_, 1, values_.data(), d_, 0, gram.data(), count_);
    return gram;
  }

  // Divides by the Cholesky factor of the Gram matrix if the condition number of that factor is below `limit` and its
  // smallest singular value is above `noise`. Returns an upper bound of the condition number, at most `count` times too
  // large; infinity if nothing was divided.
  double divide_by_cholesky(std::vector<double> factor, double limit, double noise) {
    if (!lapack::cholesky_upper(count_, factor.data(), count_)) return INFINITY;
    std::vector<double> inverse = factor;
    if (!lapack::invert_upper(count_, inverse.data(), count_)) return INFINITY;
    const double inverse_norm = upper_norm(inverse);
    const double condition = upper_norm(factor) * inverse_norm;
    if (!(condition < limit) || !(noise * inverse_norm < 1)) return INFINITY;
    lapack::solve_right_upper(d_, count_, factor.data(), count_, values_.data(), d_);
    return condition;
  }

  // Replaces the columns by their projections onto the leading eigenvectors of the Gram matrix, scaled to unit length.
  void keep_leading(std::vector<double> gram, double tolerance, double noise) {
    std::vector<double> eigenvalues(count_);
    if (!lapack::symmetric_eigen(count_, gram.data(), count_, eigenvalues.data())) {
      throw Error(ErrorKind::kNumeric, "orthonormal_basis: no convergence");
    }
    const double largest = std::max(0.0, eigenvalues.back());
    const double floor = std::max(tolerance * tolerance * largest, noise * noise);
    std::size_t rank = 0;
    while (rank < std::min(count_, d_) && eigenvalues[count_ - 1 - rank] > floor) ++rank;
    // Eigenvectors are columns in ascending order: take the last `rank`, each divided by its singular value.
    double* leading = gram.data() + (count_ - rank) * count_;
    for (std::size_t k = 0; k < rank; ++k) {
      const double scale = 1 / std::sqrt(eigenvalues[count_ - rank + k]);
      for (std::size_t i = 0; i < count_; ++i) leading[k * count_ + i] *= scale;
    }
    std::vector<double> projected(d_ * rank);
    if (rank > 0) {
      lapack::gemm(false, false, d_, rank, count_, 1.0, values_.data(), d_, leading, count_, 0.0, projected.data(), d_);
    }
    values_ = std::move(projected);
    count_ = rank;
  }

 private:
  [[nodiscard]] double upper_norm(const std::vector<double>& matrix) const {
    double sum = 0;
    for (std::size_t j = 0; j < count_; ++j) {
      for (std::size_t i = 0; i <= j; ++i) sum += matrix[i + j * count_] * matrix[i + j * count_];
    }
    return std::sqrt(sum);
  }

  std::size_t d_;
  std::size_t count_;
  std::vector<double> values_;
};

// Second pass of Cholesky QR: the columns are already nearly orthonormal.
void polish(Columns& columns) {
  static_cast<void>(columns.divide_by_cholesky(columns.gram(), INFINITY, 0));
}

Columns orthonormalize(std::span<const float> vectors, std::size_t d, std::size_t count, double tolerance,
                       double noise) {
  assert(vectors.size() == d * count);
  tolerance = std::max(tolerance, kSmallestTolerance);
  Columns columns(vectors, d, count);
  std::vector<double> gram = columns.gram();
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::isfinite(gram[i + i * count])) {
      throw Error(ErrorKind::kNumeric, "orthonormal_basis: a vector holds a NaN, an infinity or overflows");
    }
  }
  // If the condition number is below 1 / tolerance and no singular value is in the noise, all of them count.
  const double condition = columns.divide_by_cholesky(gram, 1 / tolerance, noise);
  if (condition < kConditionForOnce) return columns;
  if (!std::isfinite(condition)) columns.keep_leading(std::move(gram), tolerance, noise);
  if (columns.count() > 0) polish(columns);
  return columns;
}

template <typename T>
std::size_t write_basis(const Columns& columns, std::span<T> basis) {
  const auto end = std::transform(columns.values().begin(), columns.values().end(), basis.begin(),
                                  [](double value) { return static_cast<T>(value); });
  std::fill(end, basis.end(), T{0});
  return columns.count();
}

}  // namespace

std::size_t orthonormal_basis(std::span<const float> vectors, std::size_t d, std::size_t count, double tolerance,
                              std::span<float> basis, double noise) {
  return write_basis(orthonormalize(vectors, d, count, tolerance, noise), basis);
}

std::size_t orthonormal_basis(std::span<const float> vectors, std::size_t d, std::size_t count, double tolerance,
                              std::span<double> basis, double noise) {
  Columns columns = orthonormalize(vectors, d, count, tolerance, noise);
  if (columns.count() > 0) polish(columns);
  return write_basis(columns, basis);
}

}  // namespace headscope
