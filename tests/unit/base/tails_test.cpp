// The golden values are mpmath's; tests/golden/make_tails.py makes them.

#include "headscope/base/tails.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace headscope {
namespace {

double tail(const std::string& law, double x, double a, double b) {
  if (law == "normal") return log_normal_upper_tail(x);
  if (law == "beta") return log_beta_upper_tail(x, a, b);
  return log_gamma_upper_tail(x, a);
}

TEST(Tails, EqualMpmath) {
  std::ifstream file(std::filesystem::path(HEADSCOPE_SOURCE_DIR) / "tests/golden/tails.csv");
  std::string line;
  std::getline(file, line);
  std::size_t rows = 0;
  while (std::getline(file, line)) {
    std::ranges::replace(line, ',', ' ');
    std::istringstream words(line);
    std::string law;
    double x = 0;
    double a = 0;
    double b = 0;
    double expected = 0;
    ASSERT_TRUE(words >> law >> x >> a >> b >> expected) << line;
    EXPECT_NEAR(tail(law, x, a, b), expected, 1e-9 * std::max(1.0, std::abs(expected))) << line;
    ++rows;
  }
  EXPECT_EQ(rows, 93U);
}

TEST(Tails, EndWithTheSupport) {
  EXPECT_EQ(log_beta_upper_tail(0, 2, 3), 0);
  EXPECT_EQ(log_beta_upper_tail(-1, 2, 3), 0);
  EXPECT_EQ(log_beta_upper_tail(1, 2, 3), -INFINITY);
  EXPECT_EQ(log_gamma_upper_tail(-1, 2), 0);
  EXPECT_EQ(log_scaled_beta_upper_tail(4, 4, 1, 0.1), -INFINITY);
  EXPECT_EQ(log_scaled_beta_upper_tail(2, 4, 1, 0), -INFINITY);
  EXPECT_EQ(log_scaled_beta_upper_tail(1, 4, 1, 0), 0);
}

TEST(Tails, OfPearsonThreeIsAShiftedGammaAndReflectsWithTheSkewness) {
  // Skewness 2 is the exponential law: P(X > x) = exp(-x - 1).
  EXPECT_NEAR(log_pearson3_upper_tail(3, 2), -4, 1e-12);
  EXPECT_EQ(log_pearson3_upper_tail(-1.5, 2), 0);
  // P(-X > x) = P(X < -x).
  EXPECT_NEAR(log_pearson3_upper_tail(0.5, -2), std::log(1 - std::exp(-0.5)), 1e-12);
  EXPECT_NEAR(log_pearson3_upper_tail(2, 1e-3), log_normal_upper_tail(2), 2e-3);
  EXPECT_EQ(log_pearson3_upper_tail(2, 0), log_normal_upper_tail(2));
}

TEST(Tails, OfAScaledBetaIsThatOfItsMoments) {
  // Beta(2, 6) has mean 1/4 and variance 1/48.
  EXPECT_NEAR(log_scaled_beta_upper_tail(4 * 0.6, 4, 1, 4 * std::sqrt(1.0 / 48)), log_beta_upper_tail(0.6, 2, 6),
              1e-12);
}

}  // namespace
}  // namespace headscope
