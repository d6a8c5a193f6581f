#include "headscope/linalg/principal_angles.h"

#include <algorithm>
#include <cmath>

#include "headscope/base/error.h"
#include "linalg/lapack.h"

namespace headscope {
namespace {

std::vector<double> singular_values(std::vector<double> matrix, std::size_t rows, std::size_t columns) {
  std::vector<double> values(std::min(rows, columns));
  if (!lapack::singular_values(rows, columns, matrix.data(), rows, values.data())) {
    throw Error(ErrorKind::kNumeric, "principal_angles: no convergence");
  }
  return values;
}

// U^T V, p x q.
std::vector<double> product_of(std::span<const double> u, std::size_t p, std::span<const double> v, std::size_t q,
                               std::size_t d) {
  std::vector<double> product(p * q);
  lapack::gemm(true, false, p, q, d, 1.0, u.data(), d, v.data(), d, 0.0, product.data(), p);
  return product;
}

std::vector<double> cosines_of(std::vector<double> product, std::size_t p, std::size_t q) {
  std::vector<double> cosines = singular_values(std::move(product), p, q);
  for (double& cosine : cosines) cosine = std::min(cosine, 1.0);
  return cosines;
}

}  // namespace

std::vector<double> principal_cosines(std::span<const double> u, std::size_t p, std::span<const double> v,
                                      std::size_t q, std::size_t d) {
  if (p == 0 || q == 0) return {};
  return cosines_of(product_of(u, p, v, q, d), p, q);
}

PrincipalAngles principal_angles(std::span<const double> u, std::size_t p, std::span<const double> v, std::size_t q,
                                 std::size_t d) {
  if (p == 0 || q == 0) return {};
  if (p < q) {
    std::swap(u, v);
    std::swap(p, q);
  }
  const std::vector<double> product = product_of(u, p, v, q, d);  // p >= q
  PrincipalAngles result;
  result.cosines = cosines_of(product, p, q);
  for (const double cosine : result.cosines) result.angles.push_back(std::acos(cosine));
  if (result.cosines.front() * result.cosines.front() < 0.5) return result;

  std::vector<double> rest(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(q * d));
  lapack::gemm(false, false, d, q, p, -1.0, u.data(), d, product.data(), p, 1.0, rest.data(), d);
  std::vector<double> sines = singular_values(std::move(rest), d, q);
  std::ranges::reverse(sines);  // ascending, like the angles
  for (std::size_t i = 0; i < q; ++i) {
    if (result.cosines[i] * result.cosines[i] >= 0.5) result.angles[i] = std::asin(std::min(sines[i], 1.0));
  }
  return result;
}

}  // namespace headscope
