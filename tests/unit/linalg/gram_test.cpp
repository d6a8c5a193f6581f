#include "headscope/linalg/gram.h"

#include <gtest/gtest.h>

#include <vector>

#include "headscope/base/random.h"

namespace headscope {
namespace {

TEST(GramMoments, AreTheTracesOfThePowers) {
  constexpr std::size_t kD = 17;
  constexpr std::size_t kCount = 5;
  std::vector<float> a(kD * kCount);
  Random(3).fill_normal(a);
  double g[kCount][kCount] = {};
  for (std::size_t i = 0; i < kCount; ++i) {
    for (std::size_t j = 0; j < kCount; ++j) {
      for (std::size_t k = 0; k < kD; ++k) {
        g[i][j] += static_cast<double>(a[i * kD + k]) * static_cast<double>(a[j * kD + k]);
      }
    }
  }
  double trace = 0;
  double square = 0;
  double cube = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    trace += g[i][i];
    for (std::size_t j = 0; j < kCount; ++j) {
      square += g[i][j] * g[j][i];
      for (std::size_t k = 0; k < kCount; ++k) cube += g[i][j] * g[j][k] * g[k][i];
    }
  }
  const GramMoments found = gram_moments(a, kD, kCount);
  EXPECT_NEAR(found.trace, trace, 1e-12 * trace);
  EXPECT_NEAR(found.trace_of_square, square, 1e-12 * square);
  EXPECT_NEAR(found.trace_of_cube, cube, 1e-12 * cube);
}

TEST(GramMoments, OfAProjectorAreItsRank) {
  const GramMoments found = projector_moments(7);
  EXPECT_EQ(found.trace, 7);
  EXPECT_EQ(found.trace_of_square, 7);
  EXPECT_EQ(found.trace_of_cube, 7);
}

}  // namespace
}  // namespace headscope
