#include "headscope/linalg/orthonormal_basis.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "support/expect_error.h"
#include "support/random.h"

namespace headscope {
namespace {

double dot(const auto& x, std::size_t i, const auto& y, std::size_t j, std::size_t d) {
  double sum = 0;
  for (std::size_t k = 0; k < d; ++k) sum += static_cast<double>(x[i * d + k]) * static_cast<double>(y[j * d + k]);
  return sum;
}

// The basis is orthonormal, zero past its rank, and reaches every vector it was made from.
template <typename T>
void expect_basis(const std::vector<float>& vectors, std::size_t d, std::size_t count, double tolerance,
                  std::size_t expected_rank, double accuracy) {
  std::vector<T> basis(d * count, T{7});
  const std::size_t rank = orthonormal_basis(vectors, d, count, tolerance, std::span<T>(basis));
  ASSERT_EQ(rank, expected_rank);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      EXPECT_NEAR(dot(basis, i, basis, j, d), i == j && i < rank ? 1 : 0, accuracy) << i << "," << j;
    }
  }
  double longest = 0;
  for (std::size_t j = 0; j < count; ++j) longest = std::max(longest, dot(vectors, j, vectors, j, d));
  for (std::size_t j = 0; j < count; ++j) {
    double projected = 0;
    for (std::size_t i = 0; i < rank; ++i) projected += std::pow(dot(basis, i, vectors, j, d), 2);
    const double length = dot(vectors, j, vectors, j, d);
    EXPECT_NEAR(projected, length, 2 * std::max(accuracy, tolerance) * longest) << j;
  }
}

void expect_bases(const std::vector<float>& vectors, std::size_t d, std::size_t count, double tolerance,
                  std::size_t rank) {
  expect_basis<float>(vectors, d, count, tolerance, rank, 4 * std::numeric_limits<float>::epsilon());
  expect_basis<double>(vectors, d, count, tolerance, rank, 64 * static_cast<double>(d) * 0x1p-53);
}

TEST(OrthonormalBasis, OfIndependentVectorsHasAllOfThem) {
  expect_bases(test::normals(100 * 12, 1), 100, 12, 1e-5, 12);
}

// Singular values 8, 4, 2, 1: those above the noise count, however large the others are.
TEST(OrthonormalBasis, LeavesOutWhatIsBelowTheNoise) {
  std::vector<float> vectors(10 * 4);
  for (std::size_t i = 0; i < 4; ++i) vectors[i * 10 + i] = static_cast<float>(8 >> i);
  for (const auto& [noise, rank] : {std::pair{0.0, 4U}, {0.99, 4U}, {1.0, 3U}, {1.5, 3U}, {5.0, 1U}, {9.0, 0U}}) {
    std::vector<float> basis(40);
    std::vector<double> wide(40);
    EXPECT_EQ(orthonormal_basis(vectors, 10, 4, 0, std::span<float>(basis), noise), rank) << noise;
    EXPECT_EQ(orthonormal_basis(vectors, 10, 4, 0, std::span<double>(wide), noise), rank) << noise;
    EXPECT_EQ(orthonormal_basis(vectors, 10, 4, 0.3, std::span<float>(basis), noise), std::min(rank, 2U)) << noise;
  }
}

TEST(OrthonormalBasis, OfASquareMatrixIsEverything) {
  expect_bases(test::normals(16 * 16, 2), 16, 16, 1e-6, 16);
}

TEST(OrthonormalBasis, OfDependentVectorsHasTheTrueRank) {
  std::vector<float> vectors = test::normals(80 * 10, 3);
  for (std::size_t k = 0; k < 80; ++k) {
    vectors[7 * 80 + k] = 2 * vectors[k] - vectors[80 + k];
    vectors[9 * 80 + k] = vectors[3 * 80 + k];
  }
  expect_bases(vectors, 80, 10, 1e-5, 8);
}

TEST(OrthonormalBasis, CountsASingularValueByItsTolerance) {
  // Three orthogonal vectors of lengths 1, 1e-3 and 1e-6.
  std::vector<float> vectors(3 * 8);
  vectors[0] = 1;
  vectors[8 + 1] = 1e-3F;
  vectors[16 + 2] = 1e-6F;
  expect_bases(vectors, 8, 3, 1e-7, 3);
  expect_bases(vectors, 8, 3, 1e-5, 2);
  expect_bases(vectors, 8, 3, 1e-2, 1);
}

TEST(OrthonormalBasis, StaysOrthonormalForIllConditionedVectors) {
  std::vector<float> vectors = test::normals(64 * 8, 4);
  for (std::size_t k = 0; k < 64; ++k) vectors[7 * 64 + k] = vectors[k] + 1e-5F * vectors[7 * 64 + k];
  expect_bases(vectors, 64, 8, 1e-6, 8);
}

TEST(OrthonormalBasis, OfZerosIsEmpty) {
  expect_bases(std::vector<float>(30 * 4), 30, 4, 1e-5, 0);
}

TEST(OrthonormalBasis, OfMoreVectorsThanDimensionsHasAtMostTheDimension) {
  std::vector<float> basis(5 * 9);
  EXPECT_EQ(orthonormal_basis(test::normals(5 * 9, 5), 5, 9, 1e-5, std::span<float>(basis)), 5u);
}

TEST(OrthonormalBasis, DoesNotDependOnTheScaleOfTheVectors) {
  std::vector<float> vectors = test::normals(40 * 6, 6);
  std::vector<float> small = vectors;
  for (float& value : small) value *= 0x1p-40F;
  std::vector<float> first(40 * 6);
  std::vector<float> second(40 * 6);
  EXPECT_EQ(orthonormal_basis(vectors, 40, 6, 1e-5, std::span<float>(first)), 6u);
  EXPECT_EQ(orthonormal_basis(small, 40, 6, 1e-5, std::span<float>(second)), 6u);
  EXPECT_EQ(first, second);
}

TEST(OrthonormalBasis, RefusesNaN) {
  std::vector<float> vectors = test::normals(40 * 6, 6);
  vectors[17] = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> basis(40 * 6);
  EXPECT_ERROR(orthonormal_basis(vectors, 40, 6, 1e-5, std::span<float>(basis)), ErrorKind::kNumeric, "NaN");
}

}  // namespace
}  // namespace headscope
