#include "headscope/linalg/gram.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>
#include <vector>

#include "headscope/base/error.h"
#include "linalg/lapack.h"

namespace headscope {
namespace {

// L = V sqrt(Lambda), column-major, from G = V Lambda V^T. Eigenvalues that rounding has made negative count as zero.
std::vector<double> root(std::vector<double> gram, std::size_t count) {
  std::vector<double> values(count);
  if (!lapack::symmetric_eigen(count, gram.data(), count, values.data())) {
    throw Error(ErrorKind::kNumeric, "multiply_by_gram_root: no convergence (is there a NaN?)");
  }
  for (std::size_t k = 0; k < count; ++k) {
    const double scale = std::sqrt(std::max(0.0, values[k]));
    for (std::size_t i = 0; i < count; ++i) gram[k * count + i] *= scale;
  }
  return gram;
}

}  // namespace

std::vector<double> gram_matrix(std::span<const float> vectors, std::size_t d, std::size_t count) {
  assert(vectors.size() == d * count);
  const std::vector<double> wide(vectors.begin(), vectors.end());
  std::vector<double> gram(count * count);
  lapack::syrk_upper(/*transpose=*/true, count, d, 1, wide.data(), d, 0, gram.data(), count);
  return gram;
}

GramMoments gram_moments(std::span<const float> vectors, std::size_t d, std::size_t count) {
  std::vector<double> full = gram_matrix(vectors, d, count);
  for (std::size_t j = 0; j < count; ++j) {
    for (std::size_t i = 0; i < j; ++i) full[j + i * count] = full[i + j * count];
  }
  std::vector<double> square(count * count);
  lapack::gemm(false, false, count, count, count, 1.0, full.data(), count, full.data(), count, 0.0, square.data(),
               count);
  GramMoments moments;
  for (std::size_t j = 0; j < count; ++j) moments.trace += full[j + j * count];
  for (std::size_t i = 0; i < full.size(); ++i) {
    moments.trace_of_square += full[i] * full[i];
    moments.trace_of_cube += square[i] * full[i];
  }
  return moments;
}

void multiply_by_root(std::span<const float> a, std::vector<double> gram, std::size_t d, std::size_t count,
                      std::span<float> out) {
  const std::vector<double> factor = root(std::move(gram), count);
  const std::vector<double> wide(a.begin(), a.end());
  std::vector<double> product(d * count);
  lapack::gemm(false, false, d, count, count, 1.0, wide.data(), d, factor.data(), count, 0.0, product.data(), d);
  std::transform(product.begin(), product.end(), out.begin(), [](double value) { return static_cast<float>(value); });
}

void multiply_by_gram_root(std::span<const float> a, std::span<const float> b, std::size_t d, std::size_t count,
                           std::span<float> out) {
  multiply_by_root(a, gram_matrix(b, d, count), d, count, out);
}

}  // namespace headscope
