// Cuts of every edge of tiny models of several families, against PyTorch with hooks on transformers
// (tests/golden/make_patch.py), and what holds for every cut.

#include "headscope/patch/cut.h"

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

class CutCase : public testing::TestWithParam<std::string> {};

TEST_P(CutCase, AgreesWithPyTorch) {
  const PatchCase one(GetParam());
  const RecordedPass record(one.model(), one.inputs);
  const RecordedPass paired(one.model(), one.paired);
  for (const bool loss : {true, false}) {
    for (std::size_t k = 0; k < kReplacements.size(); ++k) {
      const HeadChange change(record, kReplacements[k], &paired);
      const CutMeter meter(record, change, loss ? one.losses : one.differences);
      EXPECT_NEAR(meter.before(), one.before(loss), 1e-4);
      for (const Role role : kReadingRoles) {
        const std::vector<PatchEdge> edges = one.edges(role);
        const std::vector<double> found = meter.measure(edges);
        const std::vector<double> expected = one.expected(loss ? "loss" : "difference", role, k);
        double worst = 0;
        double largest = 0;
        ASSERT_EQ(found.size(), edges.size());
        for (std::size_t i = 0; i < edges.size(); ++i) {
          const double there = expected[one.index(edges[i])];
          worst = std::max(worst, std::abs(found[i] - there));
          largest = std::max(largest, std::abs(there - one.before(loss)));
        }
        EXPECT_GT(largest, 5e-3);
        EXPECT_LT(worst, 1e-4) << "loss " << loss << ", replacement " << k << ", role " << letter(role);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CutCase, testing::ValuesIn(test::patch_cases()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace headscope
