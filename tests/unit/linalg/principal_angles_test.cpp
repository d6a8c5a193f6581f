#include "headscope/linalg/principal_angles.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace headscope {
namespace {

constexpr std::size_t kDimension = 8;
constexpr double kTolerance = kDimension * std::numeric_limits<double>::epsilon();

// Unit vectors e_0, e_1, ... one after another, the i-th turned by angles[i] towards e_(i + 4).
std::vector<double> turned_basis(const std::vector<double>& angles) {
  std::vector<double> basis(angles.size() * kDimension);
  for (std::size_t i = 0; i < angles.size(); ++i) {
    basis[i * kDimension + i] = std::cos(angles[i]);
    basis[i * kDimension + i + 4] = std::sin(angles[i]);
  }
  return basis;
}

TEST(PrincipalAngles, AreTheTurnsOfOneSpaceAgainstTheOtherDownToTinyOnes) {
  const std::vector<double> turns = {1e-9, 0.3, 1.2, std::numbers::pi / 2};
  const PrincipalAngles found = principal_angles(turned_basis({0, 0, 0, 0}), 4, turned_basis(turns), 4, kDimension);
  ASSERT_EQ(found.angles.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(found.angles[i], turns[i], kTolerance);
}

TEST(PrincipalAngles, CosinesAloneAreThoseOfTheAnglesWhicheverSpaceIsLarger) {
  const std::vector<double> large = turned_basis({0, 0, 0, 0});
  const std::vector<double> small = turned_basis({0.2, 1.4});
  const std::vector<double> expected = {std::cos(0.2), std::cos(1.4)};
  for (const auto& found :
       {principal_cosines(large, 4, small, 2, kDimension), principal_cosines(small, 2, large, 4, kDimension),
        principal_angles(small, 2, large, 4, kDimension).cosines}) {
    ASSERT_EQ(found.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(found[i], expected[i], kTolerance);
  }
}

TEST(PrincipalAngles, OfASpaceWithoutDimensionsThereAreNone) {
  EXPECT_TRUE(principal_cosines({}, 0, turned_basis({0}), 1, kDimension).empty());
  EXPECT_TRUE(principal_angles(turned_basis({0}), 1, {}, 0, kDimension).angles.empty());
}

}  // namespace
}  // namespace headscope
