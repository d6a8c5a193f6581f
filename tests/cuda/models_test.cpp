// On trained models, computed as in relate: the closest heads are those that the CPU finds.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "cuda/device_test.h"
#include "headscope/relate/affinity.h"
#include "headscope/relate/relate.h"

namespace headscope {
namespace {

const std::vector<RolePair> kPairs = {{Role::kO, Role::kQ}, {Role::kO, Role::kK}, {Role::kO, Role::kV}};

struct Expected {
  Precision precision;
  double bound;
};
const std::vector<Expected> kPrecisions = {
    {Precision::kFloat32, 1e-5}, {Precision::kTf32, 1e-3}, {Precision::kFp16, 1e-3}, {Precision::kBf16, 1e-2}};

class TrainedModel : public test::OnDevice<testing::TestWithParam<const char*>> {
 protected:
  [[nodiscard]] static Model model() {
    return Model::open(std::filesystem::path(HEADSCOPE_SOURCE_DIR) / "models" / GetParam());
  }
};

TEST_P(TrainedModel, HasTheAffinitiesOfTheCpu) {
  const Model opened = model();
  for (const Metric metric : {Metric::kPk, Metric::kCka, Metric::kCs, Metric::kSimpleCs, Metric::kCoupling}) {
    const auto expected = compute_affinities(opened, metric, kPairs).value();
    for (const auto& [precision, bound] : kPrecisions) {
      const Context context{.affinity_engine = cuda_affinity_engine(0, precision)};
      const auto found = compute_affinities(opened, metric, kPairs, {}, context).value();
      for (std::size_t p = 0; p < kPairs.size(); ++p) {
        EXPECT_EQ(found[p].source.ranks, expected[p].source.ranks);
        EXPECT_EQ(found[p].target.ranks, expected[p].target.ranks);
        for (std::size_t i = 0; i < expected[p].values.values().size(); ++i) {
          const double value = expected[p].values.values()[i];
          ASSERT_NEAR(found[p].values.values()[i], value, bound * value) << info(metric).name << ' ' << i;
        }
      }
    }
  }
}

TEST_P(TrainedModel, HasTheSameTop20) {
  const Model opened = model();
  const auto edges = [&](std::shared_ptr<const AffinityEngine> engine) {
    RelateOptions options;
    options.nulls = {NullModel::kIsotropic};
    std::set<std::string> result;
    const RelateResult related = relate(opened, options, {.affinity_engine = std::move(engine)}).value();
    for (const Edge& edge : related.edges) {
      result.insert(to_string(edge.pair) + ' ' + to_string(edge.source) + ' ' + to_string(edge.target));
    }
    return result;
  };
  const std::set<std::string> expected = edges(nullptr);
  EXPECT_GE(expected.size(), 20u);
  for (const auto& [precision, bound] : kPrecisions) {
    EXPECT_EQ(edges(cuda_affinity_engine(0, precision)), expected) << bound;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TrainedModel, testing::Values("induction", "demo"),
                         [](const auto& param_info) { return std::string(param_info.param); });

}  // namespace
}  // namespace headscope
