#include "tree/diffusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "headscope/base/error.h"
#include "headscope/linalg/symmetric_eigen.h"

namespace headscope {
namespace {

constexpr double kSymmetryTolerance = 1e-6;
constexpr double kNegligible = 1e-100;

double largest_entry(const DoubleMatrix& matrix) {
  const auto values = matrix.values();
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

// Error bound for the eigenvalues of a matrix of norm 1 and order n.
double eigenvalue_error(std::size_t n) {
  return 64 * static_cast<double>(n) * std::numeric_limits<double>::epsilon();
}

// Makes the affinity symmetric, with largest entry 1, no negligible entries and no row of zeros.
DoubleMatrix cleaned(const DoubleMatrix& affinity) {
  const std::size_t n = affinity.rows();
  const double largest = largest_entry(affinity);
  DoubleMatrix result(n, n);
  std::vector<std::size_t> empty;
  for (std::size_t i = 0; i < n; ++i) {
    bool any = false;
    for (std::size_t j = 0; j < n && largest > 0; ++j) {
      const double value = 0.5 * (affinity(i, j) / largest) + 0.5 * (affinity(j, i) / largest);
      if (value < kNegligible) continue;
      result(i, j) = value;
      any = true;
    }
    if (!any) empty.push_back(i);
  }
  for (const std::size_t i : empty) {
    for (const std::size_t j : empty) result(i, j) = 1;
  }
  return result;
}

// Replaces M by M + (eigenvalue - 1) * first first^T, which has the eigenpairs of M except that the first eigenvalue
// becomes `eigenvalue`. In exact arithmetic this is the same as leaving the first pair out. If it were kept, its
// rounding errors, which do not decay with t, would be added to |lambda|^t, and lambda = 0.5 is below them from t = 64
// on.
void move_first_to(double eigenvalue, MarkovMatrix& markov) {
  const auto& first = markov.first;
  for (std::size_t i = 0; i < first.size(); ++i) {
    for (std::size_t j = 0; j < first.size(); ++j) markov.matrix(i, j) += (eigenvalue - 1) * first[i] * first[j];
  }
}

}  // namespace

void check_affinity(const DoubleMatrix& affinity, std::string_view who) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: {}", who, what));
  };
  const std::size_t n = affinity.rows();
  if (affinity.columns() != n) {
    refuse(fmt::format("the affinity is {} x {}, expected a square", n, affinity.columns()));
  }
  if (n == 0) refuse("the affinity is empty, expected at least one element");
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double value = affinity(i, j);
      if (std::isfinite(value) && value >= 0) continue;
      refuse(fmt::format("affinity ({}, {}) is {}, expected a finite non-negative number", i, j, value));
    }
  }
  const double tolerance = kSymmetryTolerance * largest_entry(affinity);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (std::abs(affinity(i, j) - affinity(j, i)) <= tolerance) continue;
      refuse(fmt::format("affinity ({}, {}) is {} and ({}, {}) is {}, expected a symmetric matrix", j, i,
                         affinity(j, i), i, j, affinity(i, j)));
    }
  }
}

MarkovMatrix markov_matrix(const DoubleMatrix& affinity) {
  const std::size_t n = affinity.rows();
  MarkovMatrix result{cleaned(affinity), std::vector<double>(n)};
  DoubleMatrix& a = result.matrix;

  // With r_i = sum_j A(i, j) / d_j, which is at most n: s_i = r_i / d_i and B(i, j) / sqrt(s_i s_j) = A(i, j) / (w_i
  // w_j), w_i = sqrt(d_i) sqrt(r_i). The products d_i d_j, which could underflow, do not appear.
  std::vector<double> d(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = a.row(i);
    d[i] = std::accumulate(row.begin(), row.end(), 0.0);
  }
  std::vector<double> w(n);
  double total = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double r = 0;
    for (std::size_t j = 0; j < n; ++j) r += a(i, j) / d[j];
    w[i] = std::sqrt(d[i]) * std::sqrt(r);
    result.first[i] = r / d[i];
    total += result.first[i];
  }
  for (std::size_t i = 0; i < n; ++i) {
    result.first[i] = std::sqrt(result.first[i] / total);
    for (std::size_t j = 0; j < n; ++j) a(i, j) /= w[i] * w[j];
  }
  return result;
}

DiffusionModes diffusion_modes(const DoubleMatrix& affinity, std::size_t count) {
  const std::size_t n = affinity.rows();
  MarkovMatrix markov = markov_matrix(affinity);
  move_first_to(0, markov);
  const bool few = count < n / 4;
  const SymmetricEigen eigen = few ? leading_eigen(markov.matrix, count) : symmetric_eigen(markov.matrix);

  std::vector<std::size_t> chosen;
  for (std::size_t k = eigen.values.size(); k-- > 0;) {  // descending, so that the stable sort puts x before -x
    if (std::abs(eigen.values[k]) > eigenvalue_error(n)) chosen.push_back(k);
  }
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(eigen.values[a]) > std::abs(eigen.values[b]); });
  chosen.resize(std::min({chosen.size(), count, n - 1}));

  DiffusionModes modes{{}, DoubleMatrix(chosen.size(), n)};
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    modes.values.push_back(eigen.values[chosen[k]]);
    for (std::size_t i = 0; i < n; ++i) modes.vectors(k, i) = eigen.vectors(chosen[k], i) / markov.first[i];
  }
  return modes;
}

std::vector<double> leading_mode(const DoubleMatrix& affinity) {
  const std::size_t n = affinity.rows();
  MarkovMatrix markov = markov_matrix(affinity);
  move_first_to(-2, markov);  // below all others
  const SymmetricEigen eigen = symmetric_eigen(markov.matrix);

  const double lowest = eigen.values[n - 1] - eigenvalue_error(n);
  std::size_t begin = n - 1;
  while (begin > 1 && eigen.values[begin - 1] >= lowest) --begin;

  // The diagonal of the projection sums to the dimension of the eigenspace, so at least one entry is 1/n or more.
  const auto share = [&](std::size_t i) {
    double sum = 0;
    for (std::size_t k = begin; k < n; ++k) sum += eigen.vectors(k, i) * eigen.vectors(k, i);
    return sum;
  };
  std::size_t anchor = 0;
  while (anchor + 1 < n && share(anchor) < 0.5 / static_cast<double>(n)) ++anchor;

  std::vector<double> mode(n);
  for (std::size_t k = begin; k < n; ++k) {
    for (std::size_t i = 0; i < n; ++i) mode[i] += eigen.vectors(k, anchor) * eigen.vectors(k, i);
  }
  for (std::size_t i = 0; i < n; ++i) mode[i] /= markov.first[i];
  return mode;
}

void round_to_largest(std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  if (largest == 0) return;
  for (double& value : values) value = std::nearbyint(value / largest * 0x1p40);
}

}  // namespace headscope
