#include "relate/benjamini_hochberg.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace headscope {
namespace {

TEST(BenjaminiHochberg, EqualsScipysForOrdinaryValues) {
  // scipy.stats.false_discovery_control([0.01, 0.2, 0.03, 0.04, 0.9])
  const std::vector<float> found = log10_q_values(
      std::vector<float>{std::log10(0.01F), std::log10(0.2F), std::log10(0.03F), std::log10(0.04F), std::log10(0.9F)});
  const std::vector<double> expected = {0.05, 0.25, 0.2 / 3, 0.2 / 3, 0.9};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(std::pow(10.0, found[i]), expected[i], 1e-6);
}

TEST(BenjaminiHochberg, IsStricterForDependentTests) {
  // scipy.stats.false_discovery_control([0.001, 0.2, 0.03], method="by"); 1 + 1/2 + 1/3 = 11/6
  const std::vector<float> found =
      log10_q_values_if_dependent(std::vector<float>{std::log10(0.001F), std::log10(0.2F), std::log10(0.03F)});
  const std::vector<double> expected = {0.003 * 11 / 6, 0.2 * 11 / 6, 0.045 * 11 / 6};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(std::pow(10.0, found[i]), expected[i], 1e-6);
}

TEST(BenjaminiHochberg, WorksWhereProbabilitiesUnderflow) {
  const std::vector<float> found = log10_q_values(std::vector<float>{-1000, -2, -2000, 0});
  EXPECT_NEAR(found[2], -2000 + std::log10(4.0), 1e-3);
  EXPECT_NEAR(found[0], -1000 + std::log10(2.0), 1e-3);
  EXPECT_NEAR(found[1], -2 + std::log10(4.0 / 3), 1e-5);
  EXPECT_EQ(found[3], 0);
  EXPECT_TRUE(log10_q_values({}).empty());
}

}  // namespace
}  // namespace headscope
