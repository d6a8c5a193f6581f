#include "headscope/organize/sparsity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "headscope/base/parallel.h"
#include "headscope/organize/questionnaire.h"
#include "headscope/organize/tensor_haar.h"
#include "headscope/tree/tree_agreement.h"
#include "support/expect_error.h"
#include "support/hidden_tensor.h"
#include "support/organize_reference.h"
#include "support/random.h"
#include "support/random_tree.h"

namespace headscope {
namespace {

using Extents = std::array<std::size_t, 3>;
using test::HiddenTensor;
namespace reference = test::reference;

PartitionTree dyadic_tree(std::size_t n) {
  std::vector<PartitionTree::Level> levels;
  for (std::size_t width = n;; width /= 2) {
    auto& level = levels.emplace_back();
    for (std::size_t i = 0; i < n; ++i) {
      if (i % width == 0) level.emplace_back();
      level.back().push_back(i);
    }
    if (width == 1) return PartitionTree(levels);
  }
}

TEST(TensorHaar, EqualsTheProductOfTheBases) {
  for (const Extents& shape : std::vector<Extents>{{3, 5, 7}, {1, 8, 4}, {9, 2, 33}}) {
    const std::vector<float> values = test::normals(shape[0] * shape[1] * shape[2], 1);
    const PartitionTree h = test::random_tree(shape[0], 1);
    const PartitionTree q = test::random_tree(shape[1], 2);
    const PartitionTree k = test::random_tree(shape[2], 3);
    const HaarBasis head(h), query(q), key(k);
    const reference::Tensor x{shape, {values.begin(), values.end()}, {}, true};
    for (const bool network : {false, true}) {
      const TensorHaar haar{shape, {network ? &head : nullptr, &query, &key}};
      const auto expected = reference::haar_coefficients(x, {network ? &h : nullptr, &q, &k});
      std::vector<float> found = values;
      transform(found, haar, HaarDirection::kForward);
      double l1 = 0;
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_NEAR(found[i], expected[i], 1e-5);
        l1 += std::abs(expected[i]);
      }
      Buffer<float> work;
      EXPECT_NEAR(coefficient_l1(make_network_tensor(values, shape, {}, "test"), haar, work), l1, 1e-6 * l1);
      transform(found, haar, HaarDirection::kInverse);
      for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], values[i], 1e-5);
    }
  }
}

TEST(TensorHaar, KeepsTheLargestCoefficientsAndSaysWhatIsLost) {
  std::vector<float> c = {3, -1, 0, 2, -2, 2};
  const Kept kept = keep_largest(c, 3);
  EXPECT_EQ(kept.count, 3u);
  EXPECT_NEAR(kept.error, std::sqrt(5.0 / 22), 1e-12);
  EXPECT_EQ(c, (std::vector<float>{3, 0, 0, 2, -2, 0}));
  EXPECT_EQ(keep_largest(c, 100).error, 0);
  EXPECT_EQ(keep_above(c, 2.5F).count, 1u);
  EXPECT_EQ(keep_largest(c, 0).error, 1);
}

TEST(TensorHaar, BestReconstructionHasTheErrorThatWasSaid) {
  const Extents shape = {4, 16, 16};
  const std::vector<float> values = test::normals(1024, 4);
  const HaarBasis head(test::random_tree(4, 1)), side(test::random_tree(16, 2));
  const TensorHaar haar{shape, {&head, &side, &side}};
  std::vector<float> c = values;
  transform(c, haar, HaarDirection::kForward);
  const Kept kept = keep_largest(c, 300);
  transform(c, haar, HaarDirection::kInverse);
  double lost = 0, total = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    lost += std::pow(static_cast<double>(c[i] - values[i]), 2);
    total += std::pow(static_cast<double>(values[i]), 2);
  }
  EXPECT_NEAR(kept.error, std::sqrt(lost / total), 1e-6);
}

TEST(TensorHaar, SeesTheTensorAtAScale) {
  const Extents shape = {1, 8, 8};
  std::vector<float> values = test::normals(64, 5);
  const HaarBasis side(dyadic_tree(8));
  const TensorHaar haar{shape, {nullptr, &side, &side}};
  std::vector<float> c = values;
  transform(c, haar, HaarDirection::kForward);
  EXPECT_EQ(keep_coarse(c, haar, 1.0).count, 4u);  // constant and root contrast of each axis
  transform(c, haar, HaarDirection::kInverse);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_NEAR(c[i], c[i / 32 * 32 + i % 8 / 4 * 4], 1e-6);
}

// The figures, by sorting.
SparsityFigures by_sorting(std::vector<double> c) {
  c.erase(c.begin());
  double l1 = 0, energy = 0;
  for (double& value : c) {
    value = std::abs(value);
    l1 += value;
    energy += value * value;
  }
  std::sort(c.rbegin(), c.rend());
  SparsityFigures figures;
  figures.l1 = l1 / std::sqrt(energy);
  double sum = 0;
  const auto count = static_cast<double>(c.size());
  for (std::size_t i = 0; i < c.size(); ++i) {
    sum += c[i] * c[i];
    if (sum >= 0.99 * energy && figures.needed_99 == 0) figures.needed_99 = static_cast<double>(i + 1) / count;
    if (i + 1 == std::max<std::size_t>(1, static_cast<std::size_t>(0.01 * count))) figures.top_01 = sum / energy;
    if (i + 1 == static_cast<std::size_t>(0.1 * count)) figures.top_10 = sum / energy;
  }
  return figures;
}

TEST(Sparsity, AgreesWithSortedCoefficients) {
  const HiddenTensor hidden({6, 20, 24}, 3, 0.6, 0.1, 3);
  const NetworkTensor tensor = hidden.tensor();
  const PartitionTree h = test::random_tree(6, 1), q = test::random_tree(20, 2), k = test::random_tree(24, 3);
  const Sparsity found = measure_sparsity(tensor, h, q, k, {.draws = 3, .entropy_terms = 10}).value();
  const reference::Tensor x{tensor.extents, {hidden.values.begin(), hidden.values.end()}, {}, true};
  const auto network = by_sorting(reference::haar_coefficients(x, {&h, &q, &k}));
  const auto maps = reference::haar_coefficients(x, {nullptr, &q, &k});
  const auto compare = [](const SparsityFigures& a, const SparsityFigures& b) {
    EXPECT_NEAR(a.l1, b.l1, 1e-5 * b.l1);
    EXPECT_NEAR(a.needed_99, b.needed_99, 0.005);
    EXPECT_NEAR(a.top_01, b.top_01, 0.002);
    EXPECT_NEAR(a.top_10, b.top_10, 0.002);
    EXPECT_NEAR(a.error_10, std::sqrt(1 - a.top_10), 1e-12);
  };
  compare(found.network.found, network);
  for (std::size_t head = 0; head < 6; ++head) {
    const auto begin = maps.begin() + static_cast<std::ptrdiff_t>(head * 480);
    compare(found.heads[head].found, by_sorting({begin, begin + 480}));
    EXPECT_EQ(found.heads[head].decay.front().rank, 1u);
    EXPECT_GT(found.heads[head].decay.front().found, found.heads[head].decay.back().found);
  }
}

TEST(Sparsity, EntropyIsTheSumOverTheLargestSupports) {
  const Extents shape = {2, 4, 4};
  const std::vector<float> values = test::normals(32, 6);
  const NetworkTensor tensor = make_network_tensor(values, shape, {}, "x");
  const PartitionTree h = dyadic_tree(2), side = dyadic_tree(4);
  const reference::Tensor x{shape, {values.begin(), values.end()}, {}, true};
  const auto c = reference::haar_coefficients(x, {&h, &side, &side});
  double expected = 0;
  for (const std::size_t i : {0u, 1u, 4u, 5u, 16u, 17u, 20u, 21u}) expected += std::abs(c[i]);  // full support
  EXPECT_NEAR(measure_sparsity(tensor, h, side, side, {.entropy_terms = 8}).value().network.found.entropy, expected,
              1e-5);
}

TEST(Sparsity, ShowsWhatTheOrganizationOfAShuffledTensorGains) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const HiddenTensor hidden({64, 64, 64}, 3, 0.5, 0, seed);
    const NetworkTensor tensor = hidden.tensor();
    const Organization o = organize(tensor);
    const Sparsity found = measure_sparsity(tensor, o.head.tree, o.query.tree, o.key.tree).value();
    EXPECT_GT(found.network.gain(), 5) << seed;
    EXPECT_LT(found.network.found.l1, found.network.low.l1);
    EXPECT_LT(found.network.found.needed_99, found.network.mean.needed_99 / 5);
  }
}

TEST(Sparsity, NoiseHardlyGainsOverShuffledTrees) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Extents shape = {24, 32, 32};
    const NetworkTensor tensor = make_network_tensor(test::normals(24 * 32 * 32, seed), shape, {}, "x");
    const Organization o = organize(tensor);
    const Sparsity found = measure_sparsity(tensor, o.head.tree, o.query.tree, o.key.tree, {.seed = seed}).value();
    EXPECT_NEAR(found.network.gain(), 1, 0.03);
    for (const SparsityRow& row : found.heads) EXPECT_LT(row.gain(), 1.1) << row.name;
  }
}

TEST(Sparsity, FiguresAloneAreThoseOfTheComparison) {
  const HiddenTensor hidden({5, 12, 10}, 3, 0.6, 0.1, 3);
  const NetworkTensor tensor = hidden.tensor();
  const Organization o = organize(tensor);
  const Sparsity compared = measure_sparsity(tensor, o.head.tree, o.query.tree, o.key.tree).value();
  const SparsityValues alone = measure_figures(tensor, o.head.tree, o.query.tree, o.key.tree);
  EXPECT_EQ(as_list(alone.network), as_list(compared.network.found));
  ASSERT_EQ(alone.heads.size(), compared.heads.size());
  for (std::size_t h = 0; h < alone.heads.size(); ++h) {
    EXPECT_EQ(as_list(alone.heads[h]), as_list(compared.heads[h].found)) << h;
  }
}

TEST(Sparsity, DependsOnTheSeedButNotOnTheThreads) {
  const HiddenTensor hidden({5, 30, 20}, 3, 0.6, 0.1, 3);
  const NetworkTensor tensor = hidden.tensor();
  const Organization o = organize(tensor);
  const auto run = [&](std::size_t threads, std::uint64_t seed) {
    set_thread_count(threads);
    const Sparsity s = measure_sparsity(tensor, o.head.tree, o.query.tree, o.key.tree, {.seed = seed}).value();
    set_thread_count(0);
    return as_list(s.network.mean);
  };
  EXPECT_EQ(run(1, 1), run(4, 1));
  EXPECT_NE(run(1, 1), run(1, 2));
}

TEST(Sparsity, SurvivesAConstantTensorAndRefusesWrongTrees) {
  const Extents shape = {3, 4, 5};
  const NetworkTensor tensor = make_network_tensor(std::vector<float>(60, 2.0F), shape, {}, "x");
  const PartitionTree h = test::random_tree(3, 1), q = test::random_tree(4, 1), k = test::random_tree(5, 1);
  const Sparsity found = measure_sparsity(tensor, h, q, k).value();
  EXPECT_LT(found.network.found.l1, 8);
  EXPECT_ERROR(measure_sparsity(tensor, h, k, q), ErrorKind::kInvalidArgument,
               "the query tree has 5 elements, the tensor 4");
  EXPECT_ERROR(measure_sparsity(tensor, h, q, k, {.draws = 1}), ErrorKind::kInvalidArgument, "1 draws");
}

// Weierstrass and Mandelbrot: W(x) = sum_j f_j^(-alpha) (cos(2 pi f_j x + phase_j) - cos(phase_j)), f_j = 1.5^j for all
// integers j, with random phases: Hoelder of this exponent everywhere, of no larger one, and the same at all scales.
// Its means over n cells of [0, 1].
std::vector<double> weierstrass(std::size_t n, double alpha, std::uint64_t seed) {
  constexpr std::size_t kFiner = 8;
  std::mt19937_64 random(seed);
  std::vector<double> values(n, 0);
  for (int j = -40; std::pow(1.5, j) < static_cast<double>(n * kFiner); ++j) {
    const double frequency = std::pow(1.5, j);
    const double phase = 2 * M_PI * test::uniform(random);
    for (std::size_t i = 0; i < n * kFiner; ++i) {
      const double x = static_cast<double>(i) / static_cast<double>(n * kFiner);
      values[i / kFiner] +=
          std::pow(frequency, -alpha) * (std::cos(2 * M_PI * frequency * x + phase) - std::cos(phase));
    }
  }
  return values;
}

TEST(Regularity, FindsTheHoelderExponentOfAWeierstrassFunction) {
  const std::size_t n = 256;
  const HaarBasis basis(dyadic_tree(n));
  const TensorHaar haar{{1, n, n}, {nullptr, &basis, &basis}};
  for (const double alpha : {0.25, 0.5, 0.75}) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const auto x = weierstrass(n, alpha, 2 * seed);
      const auto y = weierstrass(n, alpha, 2 * seed + 1);
      std::vector<double> values(n * n);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = x[i / n] * y[i % n];
      haar_transform(values, n, basis, 1, HaarDirection::kForward);
      haar_transform(values, 1, basis, n, HaarDirection::kForward);
      const Regularity found = fit_regularity(values, haar);
      EXPECT_NEAR(found.alpha, alpha, 0.1) << seed;
      EXPECT_LT(found.low, found.alpha);
      EXPECT_GT(found.high, found.alpha);
    }
  }
}

TEST(Regularity, FindsTheExponentOfCoefficientsThatHaveIt) {
  const HaarBasis head(test::random_tree(12, 1)), query(test::random_tree(60, 2)), key(test::random_tree(70, 3));
  for (const double alpha : {0.3, 1.0}) {
    for (const bool network : {false, true}) {
      const TensorHaar haar{{network ? 12u : 1u, 60, 70}, {network ? &head : nullptr, &query, &key}};
      std::vector<float> c = test::normals(haar.size(), 4);
      for (std::size_t i = 0; i < c.size(); ++i) {
        c[i] *= static_cast<float>(std::pow(folder_volume(haar, i), alpha + 0.5));
      }
      EXPECT_NEAR(fit_regularity(c, haar).alpha, alpha, 0.1);
    }
  }
}

TEST(Regularity, SaysNothingAboutTooFewCoefficients) {
  const HaarBasis basis(dyadic_tree(2));
  const TensorHaar haar{{1, 2, 2}, {nullptr, &basis, &basis}};
  EXPECT_TRUE(std::isnan(fit_regularity(std::vector<float>(4, 1.0F), haar).alpha));
}

}  // namespace
}  // namespace headscope
