#include "relate/work_estimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace headscope {
namespace {

constexpr int kSources = 40;
constexpr int kTargets = 60;

// 40 source layers of a head each, which write, then 60 targets, each of which meets as many of them as it has
// predecessors.
struct Work {
  double head_seconds = 0;
  double read_seconds = 0;  // of a target
  double gigaflop_seconds = 0;
  bool overlaps = false;
  double first_head = 1;  // how much longer that takes

  [[nodiscard]] static double gigaflops(int target) { return std::min(target, kSources); }

  [[nodiscard]] static std::vector<WorkEstimate::Step> steps() {
    std::vector<WorkEstimate::Step> steps = {{kSources, 0, true}, {1, 0}};
    for (int i = 0; i < kTargets; ++i) steps.push_back({i + 1 < kTargets ? 1.0 : 0.0, gigaflops(i) * 1e9});
    return steps;
  }

  // The share at every moment.
  [[nodiscard]] std::vector<std::pair<double, double>> simulate() const {
    double clock = 100;
    WorkEstimate estimate(steps(), 5e8, overlaps, [&] { return clock; });
    std::vector<std::pair<double, double>> seen;
    const auto look = [&] { seen.emplace_back(clock - 100, estimate.share()); };
    for (int i = 0; i < kSources; ++i) {
      clock += head_seconds * (i == 0 ? first_head : 1);
      estimate.prepared(1, true);
      if (i == 0 && overlaps) {
        clock += gigaflop_seconds;
        estimate.tried(1e9);
        clock += read_seconds;
        estimate.prepared_early(1, false);
      }
      look();
    }
    estimate.finish_step();
    if (!overlaps) {
      clock += read_seconds;
      estimate.prepared(1, false);
    }
    estimate.finish_step();
    for (int i = 0; i < kTargets; ++i) {
      const double begin = clock;
      const double products = gigaflops(i) * gigaflop_seconds;
      if (!overlaps) clock += products;
      estimate.multiplied(gigaflops(i) * 1e9);
      look();
      if (i + 1 < kTargets) {
        clock += read_seconds;
        estimate.prepared(1, false);
        look();
      }
      if (overlaps) clock = std::max(clock, begin + products);
      estimate.multiplied(0);
      look();
      estimate.finish_step();
    }
    return seen;
  }

  // From a tenth of the time on, what the share says of the whole is within a fifth of what it is.
  void expect_right_after_a_tenth() const {
    const auto seen = simulate();
    const double total = seen.back().first;
    for (const auto& [spent, share] : seen) {
      if (spent < 0.1 * total) continue;
      EXPECT_NEAR(spent / share, total, 0.2 * total) << spent << " of " << total;
    }
    EXPECT_GT(seen.back().second, 0.999);
    EXPECT_LT(seen.back().second, 1);
  }
};

TEST(WorkEstimate, IsRightWithinAFifthAfterATenth) {
  Work{0.001, 0.001, 0.01}.expect_right_after_a_tenth();  // a processor: preparing hardly counts
  Work{0.5, 0.5, 1}.expect_right_after_a_tenth();
}

// A head says nothing about a product there, and a step takes as long as the longer of the two.
TEST(WorkEstimate, IsRightOnADevice) {
  Work{0.1, 0.1, 0.0001, true}.expect_right_after_a_tenth();      // waits for the disk
  Work{0.1, 0.1, 0.004, true}.expect_right_after_a_tenth();       // first for that, then for products
  Work{0.001, 0.001, 0.0004, true}.expect_right_after_a_tenth();  // for products
  Work{0.1, 0.1, 0.05, true}.expect_right_after_a_tenth();
  Work{0.3, 0.1, 0.004, true}.expect_right_after_a_tenth();  // what writes takes longer
}

TEST(WorkEstimate, ForgetsThatTheBeginningWasSlow) {
  Work{0.1, 0.1, 0.0001, true, 5}.expect_right_after_a_tenth();
  Work{0.1, 0.1, 0.004, true, 5}.expect_right_after_a_tenth();
  Work{0.5, 0.5, 1, false, 5}.expect_right_after_a_tenth();
}

TEST(WorkEstimate, NeverFallsAndLeavesOutOtherTime) {
  double clock = 0;
  WorkEstimate estimate({{2, 1e9}}, 1e9, false, [&] { return clock; });
  EXPECT_EQ(estimate.share(), 0);
  clock = 1;
  estimate.prepared(2, false);
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
