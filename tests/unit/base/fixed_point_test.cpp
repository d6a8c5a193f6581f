#include "headscope/base/fixed_point.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace headscope {
namespace {

TEST(FixedPoint, LosesOnlyWhatIsTinyBesideTheBound) {
  for (const double bound : {1e-270, 3e-8, 1.0, 7.5, 1e30}) {
    const FixedPoint as(bound);
    for (const double share : {1.0, -0.3, 1e-9}) {
      const auto integer = static_cast<std::int64_t>(std::nearbyint(share * bound * as.scale()));
      EXPECT_NEAR(as.value(integer), share * bound, std::ldexp(bound, -59));
    }
  }
}

// Whatever comes, sums of a few of the largest do not overflow.
TEST(FixedPoint, LeavesRoom) {
  for (const double bound : {1.0, 1.999, 1e100}) EXPECT_LE(bound * FixedPoint(bound).scale(), std::ldexp(1.0, 60));
  EXPECT_EQ(FixedPoint(0).value(0), 0);
  EXPECT_TRUE(std::isfinite(FixedPoint(std::numeric_limits<double>::denorm_min()).scale()));
  EXPECT_TRUE(std::isfinite(FixedPoint(std::numeric_limits<double>::infinity()).scale()));
}

}  // namespace
}  // namespace headscope
