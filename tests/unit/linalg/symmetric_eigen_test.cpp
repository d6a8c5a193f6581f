#include "headscope/linalg/symmetric_eigen.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

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

}  // namespace
}  // namespace headscope
