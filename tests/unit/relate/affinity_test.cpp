// Affinities against float64 references made with NumPy and SciPy by tests/golden/make_affinities.py.

#include "headscope/relate/affinity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <tuple>

#include "headscope/base/parallel.h"
#include "headscope/io/npz.h"
#include "support/expect_error.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(HEADSCOPE_SOURCE_DIR) / "tests/golden/affinities";

class AffinityGolden : public testing::TestWithParam<std::tuple<std::string, Metric>> {};

TEST_P(AffinityGolden, EqualsTheFloat64ReferenceForEveryPair) {
  const auto [name, metric] = GetParam();
  const Model model = Model::open(kFolder / name);
  if (metric == Metric::kRopeCs && name != "grouped") GTEST_SKIP() << "no rotary positions";
  const NpzFile expected = NpzFile::open(kFolder / name / "expected.npz");
  std::vector<RolePair> pairs;
  for (const RolePair pair : all_role_pairs()) {
    if (is_defined(metric, pair)) pairs.push_back(pair);
  }
  const auto all = compute_affinities(model, metric, pairs, {.weights = WeightProcessing::kRaw}).value();
  for (const Affinities& found : all) {
    const std::string key = std::string(info(metric).name) + "_" + to_string(found.pair);
    const auto array = expected.find(key);
    ASSERT_TRUE(array.has_value()) << key;
    ASSERT_EQ(array->view().shape, (Shape{found.values.rows(), found.values.columns()})) << key;
    const std::vector<double> reference = npy_values<double>(array->view(), key);
    for (std::size_t i = 0; i < reference.size(); ++i) {
      const double value = static_cast<double>(found.values.values()[i]);
      if (std::isinf(reference[i])) {
        EXPECT_EQ(value, reference[i]) << key << " " << i;
        continue;
      }
      // 1e-5 relative. Products in float carry an error of the size of their rounding: bases are accurate to 2^-24, a
      // cosine of nearly orthogonal spaces no better than that.
      const double tolerance = 1e-5 * std::abs(reference[i]) + (info(metric).angles() ? 1e-12 : 1e-9);
      EXPECT_NEAR(value, reference[i], tolerance) << key << " " << i;
    }
  }
}

std::vector<Metric> metrics() {
  std::vector<Metric> all;
  for (const MetricInfo& metric : all_metrics()) all.push_back(metric.metric);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Cases, AffinityGolden,
                         testing::Combine(testing::Values("plain", "grouped", "special"), testing::ValuesIn(metrics())),
                         [](const auto& param_info) {
                           std::string name = std::get<0>(param_info.param) + "_" +
                                              std::string(headscope::info(std::get<1>(param_info.param)).name);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

class AffinityOptionsTest : public testing::Test {
 protected:
  const Model model_ = Model::open(kFolder / "grouped");
  const std::vector<RolePair> pairs_ = {{Role::kO, Role::kQ}, {Role::kO, Role::kK}, {Role::kQ, Role::kQ}};

  // Equal where both are numbers; `missing` says how many of the second are NaN.
  static void expect_same_values(const Matrix& whole, const Matrix& part, std::size_t missing) {
    std::size_t found_missing = 0;
    for (std::size_t i = 0; i < whole.values().size(); ++i) {
      const float value = part.values()[i];
      if (std::isnan(value)) {
        ++found_missing;
      } else {
        EXPECT_EQ(value, whole.values()[i]);
      }
    }
    EXPECT_EQ(found_missing, missing);
  }
};

TEST_F(AffinityOptionsTest, EarlierOnlyLeavesOutAllButEarlierToLaterPairs) {
  for (const Metric metric : {Metric::kPk, Metric::kGrassmann}) {
    const auto whole = compute_affinities(model_, metric, pairs_).value();
    const auto part = compute_affinities(model_, metric, pairs_, {.earlier_only = true}).value();
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      const std::size_t all = whole[p].values.values().size();
      expect_same_values(whole[p].values, part[p].values, all - all / 4);  // one of two by two layers is left
      EXPECT_EQ(whole[p].target.ranks, part[p].target.ranks);
      EXPECT_EQ(whole[p].source.ranks, part[p].source.ranks);
    }
  }
}

TEST_F(AffinityOptionsTest, TheMemoryBudgetDoesNotChangeTheResult) {
  const auto whole = compute_affinities(model_, Metric::kPk, pairs_).value();
  const auto little = compute_affinities(model_, Metric::kPk, pairs_, {}, {.memory = 1}).value();
  for (std::size_t p = 0; p < pairs_.size(); ++p) expect_same_values(whole[p].values, little[p].values, 0);
}

TEST_F(AffinityOptionsTest, TheNumberOfThreadsDoesNotChangeTheResult) {
  for (const Metric metric : {Metric::kPk, Metric::kCs, Metric::kProcrustes}) {
    const std::vector<RolePair> circuit = {{Role::kO, Role::kQ}, {Role::kO, Role::kV}};
    set_thread_count(1);
    const auto one = compute_affinities(model_, metric, circuit).value();
    set_thread_count(3);
    const auto three = compute_affinities(model_, metric, circuit).value();
    set_thread_count(0);
    for (std::size_t p = 0; p < circuit.size(); ++p) expect_same_values(one[p].values, three[p].values, 0);
  }
}

TEST_F(AffinityOptionsTest, SelectsLayersAndHeadsWithTheKeyValueHeadsTheyUse) {
  const auto whole = compute_affinities(model_, Metric::kPk, pairs_).value();
  const auto part = compute_affinities(model_, Metric::kPk, pairs_, {.layers = {1}, .heads = {3, 2}}).value();
  EXPECT_EQ(part[0].source.heads, (std::vector<HeadId>{{1, 2, false}, {1, 3, false}}));
  EXPECT_EQ(part[1].target.heads, (std::vector<HeadId>{{1, 1, true}}));
  // Tiles of another shape may take another kernel of BLAS, which adds in another order.
  EXPECT_FLOAT_EQ(part[1].values(1, 0), whole[1].values(7, 3));
  EXPECT_FLOAT_EQ(part[2].values(0, 1), whole[2].values(6, 7));
}

// Different numbers of heads in each layer, so that nothing can count on a grid.
TEST_F(AffinityOptionsTest, SingleHeadsHaveTheValuesTheyHaveAmongAll) {
  const std::vector<HeadId> named = {{1, 2, false}, {0, 3, false}, {1, 0, false}};
  for (const Metric metric : {Metric::kPk, Metric::kCka, Metric::kGrassmann}) {
    for (const std::size_t memory : {std::size_t{1}, std::size_t{1} << 30}) {
      const auto whole = compute_affinities(model_, metric, pairs_).value();
      const auto part = compute_affinities(model_, metric, pairs_, {.named_heads = named}, {.memory = memory}).value();
      EXPECT_EQ(part[0].source.heads, (std::vector<HeadId>{{0, 3, false}, {1, 0, false}, {1, 2, false}}));
      EXPECT_EQ(part[1].target.heads, (std::vector<HeadId>{{0, 1, true}, {1, 0, true}, {1, 1, true}}));
      const std::vector<std::size_t> query = {3, 4, 6};
      const std::vector<std::size_t> key_value = {1, 2, 3};
      for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 3; ++j) {
          EXPECT_FLOAT_EQ(part[0].values(i, j), whole[0].values(query[i], query[j]));
          EXPECT_FLOAT_EQ(part[1].values(i, j), whole[1].values(query[i], key_value[j]));
          EXPECT_FLOAT_EQ(part[2].values(i, j), whole[2].values(query[i], query[j]));
        }
        EXPECT_EQ(part[1].target.ranks[i], whole[1].target.ranks[key_value[i]]);
      }
    }
  }
}

TEST_F(AffinityOptionsTest, NumbersOfHeadsAndSingleHeadsAddUp) {
  const auto part =
      compute_affinities(model_, Metric::kPk, pairs_, {.heads = {1}, .named_heads = {{1, 3, false}}}).value();
  EXPECT_EQ(part[0].source.heads, (std::vector<HeadId>{{0, 1, false}, {1, 1, false}, {1, 3, false}}));
}

TEST_F(AffinityOptionsTest, RefusesWhatDoesNotExist) {
  EXPECT_ERROR(compute_affinities(model_, Metric::kPk, pairs_, {.layers = {2}}), ErrorKind::kInvalidArgument,
               "layer 2 requested, but the model has 2");
  EXPECT_ERROR(compute_affinities(model_, Metric::kPk, pairs_, {.heads = {9}}), ErrorKind::kInvalidArgument,
               "head 9 requested");
  EXPECT_ERROR(compute_affinities(model_, Metric::kPk, pairs_, {.named_heads = {{2, 0, false}}}),
               ErrorKind::kInvalidArgument, "head L2H0 requested, but the model has 2 layers of 4 heads");
  EXPECT_ERROR(compute_affinities(model_, Metric::kPk, pairs_, {.layers = {0}, .named_heads = {{1, 0, false}}}),
               ErrorKind::kInvalidArgument, "head L1H0 requested, but layer 1 is not among the chosen ones");
  EXPECT_ERROR(compute_affinities(model_, Metric::kPk, pairs_, {.named_heads = {{1, 0, true}}}),
               ErrorKind::kInvalidArgument, "head L1KV0 requested, but only query heads can be selected");
  EXPECT_ERROR(compute_affinities(model_, Metric::kCs, pairs_), ErrorKind::kInvalidArgument,
               "metric 'cs' is not defined for pair QQ");
}

TEST_F(AffinityOptionsTest, ReportsProgressUpToTheEndAndStopsWhenItThrows) {
  double last = 0;
  Context context;
  context.on_progress = [&](std::string_view, double share) {
    EXPECT_GT(share, last);
    last = share;
  };
  (void)compute_affinities(model_, Metric::kPk, pairs_, {}, context);
  EXPECT_EQ(last, 1);
  context.on_progress = [](std::string_view, double) { throw 1; };
  EXPECT_THROW((void)compute_affinities(model_, Metric::kPk, pairs_, {}, context), int);
  const Context canceled{.poll = [] { throw 1; }};
  EXPECT_THROW((void)compute_affinities(model_, Metric::kGrassmann, pairs_, {}, canceled), int);
}

}  // namespace
}  // namespace headscope
