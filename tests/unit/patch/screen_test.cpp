// The screen of all edges of tiny models of several families, against one pass of PyTorch per edge
// (tests/golden/make_patch.py), and what holds for every screen.

#include "headscope/patch/screen.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "headscope/base/parallel.h"
#include "support/expect_error.h"
#include "support/patch_case.h"

namespace headscope {
namespace {

using test::kReadingRoles;
using test::kReplacements;
using test::PatchCase;

class ScreenCase : public testing::TestWithParam<std::string> {};

TEST_P(ScreenCase, AgreesWithPyTorch) {
  const PatchCase one(GetParam());
  const RecordedPass record(one.model(), one.inputs);
  const RecordedPass paired(one.model(), one.paired);
  for (std::size_t k = 0; k < kReplacements.size(); ++k) {
    const HeadChange change(record, kReplacements[k], &paired);
    const std::vector<Screen> screens = screen(record, change, kReadingRoles);
    ASSERT_EQ(screens.size(), kReadingRoles.size());
    for (const Screen& found : screens) {
      const std::vector<double> expected = one.expected("screen", found.role, k);
      ASSERT_EQ(found.values.rows(), one.sizes().layers * one.sizes().heads);
      ASSERT_EQ(found.values.columns(), one.sizes().layers * one.targets(found.role));
      double worst = 0;
      double largest = 0;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        worst = std::max(worst, std::abs(static_cast<double>(found.values.values()[i]) - expected[i]));
        largest = std::max(largest, expected[i]);
      }
      EXPECT_GT(largest, 0.05);
      EXPECT_LT(worst, 1e-5) << "replacement " << k << ", role " << letter(found.role);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ScreenCase, testing::ValuesIn(test::patch_cases()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace headscope
