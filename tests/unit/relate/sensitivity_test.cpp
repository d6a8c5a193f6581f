#include "headscope/relate/sensitivity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "headscope/base/parallel.h"
#include "headscope/relate/weight_variant.h"
#include "support/random.h"
#include "support/tiny_llama.h"

namespace headscope {
namespace {

using test::TemporaryFolder;
using test::TinyLlama;

const std::string kSource = HEADSCOPE_SOURCE_DIR;
const std::vector<RolePair> kPairs = {{Role::kO, Role::kQ}, {Role::kO, Role::kK}};

// Two layers of three heads with these affinities from the first layer to the second.
Affinities affinities(const std::vector<float>& values, Metric metric = Metric::kPk) {
  Affinities result;
  result.metric = metric;
  for (std::size_t layer = 0; layer < 2; ++layer) {
    for (std::size_t head = 0; head < 3; ++head) {
      result.source.heads.push_back({layer, head});
      result.target.heads.push_back({layer, head});
    }
  }
  result.values = Matrix(6, 6);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) result.values(i, 3 + j) = values[i * 3 + j];
  }
  return result;
}

TEST(CompareAffinities, IsOneForTheSameOrderAndMinusOneForTheReverse) {
  const Affinities a = affinities({1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Sensitivity same = compare_affinities(a, affinities({0, 1, 4, 9, 16, 25, 36, 49, 64}), 4);
  EXPECT_EQ(same.pairs, 9U);
  EXPECT_DOUBLE_EQ(same.spearman, 1);
  EXPECT_EQ(same.top, 4U);
  EXPECT_EQ(same.top_overlap, 4U);
  const Sensitivity reverse = compare_affinities(a, affinities({9, 8, 7, 6, 5, 4, 3, 2, 1}), 4);
  EXPECT_DOUBLE_EQ(reverse.spearman, -1);
  EXPECT_EQ(reverse.top_overlap, 0U);
  EXPECT_EQ(compare_affinities(a, a, 100).top, 9U);
  EXPECT_TRUE(std::isnan(compare_affinities(a, affinities(std::vector<float>(9, 1)), 4).spearman));
}

TEST(CompareAffinities, TiesShareTheirMeanRank) {
  const Sensitivity found =
      compare_affinities(affinities({1, 2, 2, 4, 5, 6, 7, 8, 9}), affinities({2, 1, 3, 3, 5, 9, 7, 7, 8}), 3);
  const std::vector<double> a = {1, 2.5, 2.5, 4, 5, 6, 7, 8, 9};
  const std::vector<double> b = {2, 1, 3.5, 3.5, 5, 9, 6.5, 6.5, 8};
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - 5) * (b[i] - 5);
    aa += (a[i] - 5) * (a[i] - 5);
    bb += (b[i] - 5) * (b[i] - 5);
  }
  EXPECT_NEAR(found.spearman, ab / std::sqrt(aa * bb), 1e-12);
  EXPECT_EQ(found.top_overlap, 2U);  // 7, 8, 9 against 9, 8 and the earlier 7
}

TEST(CompareAffinities, SmallDistancesAreClose) {
  const Affinities a = affinities({1, 2, 3, 4, 5, 6, 7, 8, 9}, Metric::kChordal);
  const Affinities b = affinities({1, 2, 3, 9, 8, 7, 6, 5, 4}, Metric::kChordal);
  EXPECT_EQ(compare_affinities(a, b, 3).top_overlap, 3U);
}

// The variants that have a name are what the name gives, bit by bit.
TEST(WeightVariant, OfTheNamedProcessingsGivesTheirAffinities) {
  for (const char* path : {"/models/induction", "/tests/golden/affinities/grouped"}) {
    const Model model = Model::open(kSource + path);
    for (const WeightProcessing weights : {WeightProcessing::kFolded, WeightProcessing::kRaw}) {
      for (const Metric metric : {Metric::kPk, Metric::kCs, Metric::kChordal}) {
        AffinityOptions options;
        options.weights = weights;
        const auto named = compute_affinities(model, metric, kPairs, options).value();
        options.variant = std::make_shared<WeightVariant>(WeightVariant{steps_of(weights, model.info()), {}});
        options.weights = WeightProcessing::kFolded;
        const auto variant = compute_affinities(model, metric, kPairs, options).value();
        for (std::size_t p = 0; p < kPairs.size(); ++p) {
          EXPECT_TRUE(std::ranges::equal(named[p].values.values(), variant[p].values.values())) << path;
        }
      }
    }
  }
}

// All heads of role O get the same large direction in addition: it is the leading one, and without it the affinities
// are those of the heads before.
TEST(WeightVariant, RemovesADirectionThatAllHeadsShare) {
  TinyLlama tiny;
  const std::vector<float> direction = test::normals(TinyLlama::kWidth, 3);
  double norm = 0;
  for (const float value : direction) norm += static_cast<double>(value) * static_cast<double>(value);
  for (auto& [name, values] : tiny.values) {
    if (name.find("o_proj") == std::string::npos) continue;
    for (std::size_t i = 0; i < TinyLlama::kWidth; ++i) {
      for (std::size_t column = 0; column < 16; column += 4) values[i * 16 + column] += 1000 * direction[i];
    }
  }
  const TemporaryFolder folder;
  tiny.write(folder);
  const Model model = Model::open(folder.path());
  const std::vector<Role> roles = {Role::kO};
  const auto found = common_directions(model, roles, 2, {});
  const std::vector<float>& vectors = found[static_cast<std::size_t>(Role::kO)];
  ASSERT_EQ(vectors.size(), 2 * TinyLlama::kWidth);
  EXPECT_TRUE(found[static_cast<std::size_t>(Role::kQ)].empty());
  double cosine = 0;
  double between = 0;
  for (std::size_t i = 0; i < direction.size(); ++i) {
    cosine += static_cast<double>(vectors[i]) * static_cast<double>(direction[i]) / std::sqrt(norm);
    between += static_cast<double>(vectors[i]) * static_cast<double>(vectors[TinyLlama::kWidth + i]);
  }
  EXPECT_NEAR(std::abs(cosine), 1, 1e-3);
  EXPECT_NEAR(between, 0, 1e-6);

  WeightVariant variant;
  variant.removed[static_cast<std::size_t>(Role::kO)].assign(vectors.begin(), vectors.begin() + TinyLlama::kWidth);
  HeadWeights weights = model.load_heads(0, Role::kO, WeightProcessing::kRaw);
  variant.apply(model, 0, weights);
  for (std::size_t head = 0; head < weights.heads(); ++head) {
    for (std::size_t j = 0; j < weights.d_head(); ++j) {
      double along = 0;
      for (std::size_t i = 0; i < direction.size(); ++i) {
        along += static_cast<double>(weights.column(head, j)[i]) * static_cast<double>(vectors[i]);
      }
      EXPECT_NEAR(along, 0, 1e-3);  // 1e-6 of the weights
    }
  }
}

TEST(Sensitivity, TriesAllVariantsAndDoesNotDependOnThreads) {
  const Model model = Model::open(kSource + "/models/induction");
  const auto defaults = compute_affinities(model, Metric::kPk, kPairs).value();
  set_thread_count(1);
  const auto one = sensitivity(model, Metric::kPk, kPairs, defaults, {}, 20).value();
  set_thread_count(3);
  const auto three = sensitivity(model, Metric::kPk, kPairs, defaults, {}, 20).value();
  set_thread_count(0);
  ASSERT_EQ(one.size(), sensitivity_variants(model.info()) * kPairs.size());
  EXPECT_EQ(sensitivity_variants(model.info()), 7U);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].spearman, three[i].spearman);
    EXPECT_EQ(one[i].top_overlap, three[i].top_overlap);
    EXPECT_EQ(one[i].pairs, 64U);
    EXPECT_GE(one[i].spearman, -1);
    EXPECT_LE(one[i].spearman, 1);
  }
  EXPECT_EQ(one[0].variant, "gain only");
  EXPECT_EQ(one[4].variant, "as stored");
  EXPECT_EQ(one[6].variant, "without 1 direction");
  EXPECT_EQ(one[13].variant, "without 8 directions");
}

}  // namespace
}  // namespace headscope
