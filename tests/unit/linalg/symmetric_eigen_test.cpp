#include "headscope/linalg/symmetric_eigen.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/expect_error.h"

namespace headscope {
namespace {

DoubleMatrix symmetric(std::size_t n) {
  DoubleMatrix matrix(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) matrix(i, j) = matrix(j, i) = std::sin(static_cast<double>(i * 31 + j * 7));
  }
  return matrix;
}

TEST(SymmetricEigen, SatisfiesTheEquationWithOrthonormalVectors) {
  for (const std::size_t n : {1u, 2u, 17u, 60u}) {
    const DoubleMatrix a = symmetric(n);
    const SymmetricEigen eigen = symmetric_eigen(a);
    const double tolerance =
        10 * static_cast<double>(n) * std::numeric_limits<double>::epsilon() * static_cast<double>(n);
    for (std::size_t k = 0; k < n; ++k) {
      EXPECT_LE(eigen.values[k == 0 ? 0 : k - 1], eigen.values[k]);
      for (std::size_t i = 0; i < n; ++i) {
        double product = 0;
        double dot = 0;
        for (std::size_t j = 0; j < n; ++j) {
          product += a(i, j) * eigen.vectors(k, j);
          dot += eigen.vectors(i, j) * eigen.vectors(k, j);
        }
        EXPECT_NEAR(product, eigen.values[k] * eigen.vectors(k, i), tolerance);
        EXPECT_NEAR(dot, i == k ? 1 : 0, tolerance);
      }
    }
  }
}

TEST(SymmetricEigen, AcceptsNothing) {
  EXPECT_TRUE(symmetric_eigen(DoubleMatrix()).values.empty());
}

TEST(SymmetricEigen, RefusesWhatIsNotSquare) {
  EXPECT_ERROR(symmetric_eigen(DoubleMatrix(2, 3)), ErrorKind::kInvalidArgument, "2 x 3, expected a square");
}

TEST(LeadingEigen, HasTheLargestMagnitudesAndTheirVectors) {
  for (const std::size_t n : {1u, 2u, 17u, 60u}) {
    const DoubleMatrix a = symmetric(n);
    const SymmetricEigen all = symmetric_eigen(a);
    std::vector<double> magnitudes;
    for (const double value : all.values) magnitudes.push_back(std::abs(value));
    std::sort(magnitudes.rbegin(), magnitudes.rend());
    for (const std::size_t count : {std::size_t{1}, std::size_t{5}, n, n + 3}) {
      const SymmetricEigen few = leading_eigen(a, count);
      ASSERT_EQ(few.values.size(), std::min(count, n));
      const double tolerance = 1e-13 * static_cast<double>(n * n);
      double smallest = magnitudes[0];
      for (std::size_t k = 0; k < few.values.size(); ++k) {
        smallest = std::min(smallest, std::abs(few.values[k]));
        for (std::size_t i = 0; i < n; ++i) {
          double product = 0;
          for (std::size_t j = 0; j < n; ++j) product += a(i, j) * few.vectors(k, j);
          EXPECT_NEAR(product, few.values[k] * few.vectors(k, i), tolerance);
        }
        for (std::size_t other = 0; other < few.values.size(); ++other) {
          double product = 0;
          for (std::size_t j = 0; j < n; ++j) product += few.vectors(other, j) * few.vectors(k, j);
          EXPECT_NEAR(product, other == k ? 1 : 0, tolerance);
        }
      }
      EXPECT_NEAR(smallest, magnitudes[few.values.size() - 1], tolerance);
    }
  }
  DoubleMatrix broken = symmetric(8);
  broken(2, 3) = NAN;
  EXPECT_ERROR(leading_eigen(broken, 2), ErrorKind::kNumeric, "NaN or infinity");
  EXPECT_ERROR(leading_eigen(DoubleMatrix(2, 3), 2), ErrorKind::kInvalidArgument, "2 x 3, expected a square");
}

}  // namespace
}  // namespace headscope
