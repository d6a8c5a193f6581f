#include "relate/work_estimate.h"

#include <gtest/gtest.h>

namespace headscope {
namespace {

// 30 chunks of sources and targets, where a head takes as long to prepare as `heads_cost` gigaflops: from a tenth of
// the time on, the time that is left by the share is within a fifth of what it will be.
void expect_right_after_a_tenth(double head_seconds, double gigaflop_seconds) {
  double clock = 100;
  constexpr int kSources = 40;
  constexpr int kTargets = 60;
  WorkEstimate estimate(kSources + kTargets, kTargets * kSources * 1e9, 5e8, [&] { return clock; });
  const double total = (kSources + kTargets) * head_seconds + kTargets * kSources * gigaflop_seconds;
  const auto check = [&] {
    const double spent = clock - 100;
    const double share = estimate.share();
    if (spent < 0.1 * total) return;
    EXPECT_NEAR(spent / share, total, 0.2 * total) << spent << " of " << total;
  };
  for (int i = 0; i < kSources; ++i) {
    clock += head_seconds;
    estimate.prepared(1);
  }
  for (int i = 0; i < kTargets; ++i) {
    clock += head_seconds;
    estimate.prepared(1);
    if (i > 0) check();
    clock += kSources * gigaflop_seconds;
    estimate.multiplied(kSources * 1e9);
    check();
  }
  EXPECT_GT(estimate.share(), 0.999);
  EXPECT_LT(estimate.share(), 1);
}

TEST(WorkEstimate, IsRightWithinAFifthAfterATenth) {
  expect_right_after_a_tenth(0.001, 0.01);  // a processor: preparing hardly counts
  expect_right_after_a_tenth(1, 1);
  expect_right_after_a_tenth(0.1, 0.0001);  // a device that waits for the disk
}

TEST(WorkEstimate, NeverFallsAndLeavesOutOtherTime) {
  double clock = 0;
  WorkEstimate estimate(2, 1e9, 1e9, [&] { return clock; });
  EXPECT_EQ(estimate.share(), 0);
  clock = 1;
  estimate.prepared(2);
  const double first = estimate.share();
  EXPECT_GT(first, 0);
  clock = 50;
  estimate.skip();
  clock = 60;
  estimate.multiplied(1e8);  // far slower than was thought
  EXPECT_EQ(estimate.share(), first);
}

}  // namespace
}  // namespace headscope
