#include "headscope/tree/diffusion_map.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/affinities.h"
#include "support/expect_error.h"
#include "support/flexible_tree_reference.h"

namespace headscope {
namespace {

TEST(DiffusionMap, HasTheLeadingNonTrivialModesOfItsDefinition) {
  const DoubleMatrix affinity = test::random_affinity(20, 4);
  const auto modes = test::reference::make_modes(affinity, 6);
  const DiffusionMap map = diffusion_map(affinity, {.dimensions = 5, .time = 2});
  ASSERT_EQ(map.coordinates.columns(), 5u);
  EXPECT_LE(map.spectrum.size(), 19u);
  for (std::size_t k = 0; k < 5; ++k) {
    EXPECT_NEAR(std::abs(map.spectrum[k]), static_cast<double>(modes.magnitudes[k]), 1e-12);
    std::size_t largest = 0;
    for (std::size_t i = 0; i < 20; ++i) {
      if (std::abs(map.coordinates(i, k)) > std::abs(map.coordinates(largest, k))) largest = i;
    }
    EXPECT_GT(map.coordinates(largest, k), 0);
    const double sign = modes.psi[k][largest] > 0 ? 1 : -1;
    for (std::size_t i = 0; i < 20; ++i) {
      const double expected = static_cast<double>(modes.magnitudes[k] * modes.magnitudes[k] * modes.psi[k][i]);
      EXPECT_NEAR(map.coordinates(i, k), sign * expected, 1e-10);
    }
  }
}

TEST(DiffusionMap, SetsPlantedGroupsApart) {
  const DoubleMatrix affinity = test::planted_affinity(30, 5, 15, 0.1, 2);
  const DiffusionMap map = diffusion_map(affinity, {.dimensions = 1});
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(map.coordinates(i, 0) * map.coordinates(0, 0) > 0, i < 15) << i;
}

TEST(DiffusionMap, OfOneElementHasNoCoordinates) {
  DoubleMatrix one(1, 1);
  one(0, 0) = 1;
  EXPECT_EQ(diffusion_map(one).coordinates.columns(), 0u);
  EXPECT_TRUE(diffusion_map(one).spectrum.empty());
}

TEST(DiffusionMap, RefusesOptionsThatMakeNoSense) {
  const DoubleMatrix affinity = test::random_affinity(4, 1);
  EXPECT_ERROR(diffusion_map(affinity, {.dimensions = 0}), ErrorKind::kInvalidArgument, "0 dimensions");
  EXPECT_ERROR(diffusion_map(affinity, {.time = -1}), ErrorKind::kInvalidArgument, "time -1");
  EXPECT_ERROR(diffusion_map(DoubleMatrix(2, 3)), ErrorKind::kInvalidArgument, "diffusion_map: the affinity is 2 x 3");
}

}  // namespace
}  // namespace headscope
