#include "headscope/tree/haar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "headscope/base/parallel.h"
#include "support/organize_reference.h"
#include "support/random.h"
#include "support/random_tree.h"

namespace headscope {
namespace {

using Levels = std::vector<PartitionTree::Level>;

constexpr double kFloat = std::numeric_limits<float>::epsilon();

std::vector<double> unit(std::size_t n, std::size_t i) {
  std::vector<double> vector(n, 0);
  vector[i] = 1;
  return vector;
}

TEST(Haar, HasTheCoefficientsOfItsDefinition) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const PartitionTree tree = test::random_tree(1 + seed * 5, seed);
    const HaarBasis basis(tree);
    const DoubleMatrix reference = test::reference::haar_basis(tree);
    for (std::size_t e = 0; e < tree.size(); ++e) {
      const auto coefficients = basis.forward(unit(tree.size(), e));
      for (std::size_t k = 0; k < tree.size(); ++k) EXPECT_NEAR(coefficients[k], reference(k, e), 1e-14);
    }
  }
}

TEST(Haar, IsOrthonormalAndInvertsExactly) {
  for (const std::size_t n : {1u, 2u, 3u, 17u, 200u}) {
    const HaarBasis basis(test::random_tree(n, n));
    for (std::size_t i = 0; i < std::min<std::size_t>(n, 20); ++i) {
      const auto psi = basis.inverse(unit(n, i));
      for (std::size_t j = 0; j < n; ++j) {
        const auto phi = basis.inverse(unit(n, j));
        double product = 0;
        for (std::size_t e = 0; e < n; ++e) product += psi[e] * phi[e];
        EXPECT_NEAR(product, i == j ? 1 : 0, 1e-13);
      }
      const auto back = basis.forward(psi);
      for (std::size_t k = 0; k < n; ++k) EXPECT_NEAR(back[k], k == i ? 1 : 0, 1e-14);
    }
  }
}

TEST(Haar, ContrastsTheLargestChildWithTheRestFirst) {
  const PartitionTree tree(Levels{{{0, 1, 2, 3, 4, 5}}, {{0}, {1, 2, 3}, {4, 5}}, {{0}, {1}, {2}, {3}, {4}, {5}}});
  const HaarBasis basis(tree);
  const auto first = basis.inverse(unit(6, 1));
  EXPECT_NEAR(first[1], std::sqrt(1.0 / 6), 1e-15);
  EXPECT_NEAR(first[0], -std::sqrt(1.0 / 6), 1e-15);
  const auto second = basis.inverse(unit(6, 2));
  EXPECT_NEAR(second[4], std::sqrt(1.0 / 6), 1e-15);
  EXPECT_NEAR(second[0], -std::sqrt(2.0 / 3), 1e-15);
  EXPECT_EQ(second[1], 0);
}

TEST(Haar, KnowsTheVolumesOfFoldersAndSupports) {
  const PartitionTree tree(Levels{{{0, 1, 2, 3, 4, 5}}, {{0}, {1, 2, 3}, {4, 5}}, {{0}, {1}, {2}, {3}, {4}, {5}}});
  const HaarBasis basis(tree);
  const std::vector<double> volumes = {1, 1, 1, 0.5, 0.5, 1.0 / 3};
  const std::vector<double> supports = {1, 1, 0.5, 0.5, 1.0 / 3, 1.0 / 3};
  for (std::size_t k = 0; k < 6; ++k) {
    EXPECT_NEAR(basis.volumes()[k], volumes[k], 1e-15) << k;
    EXPECT_NEAR(basis.supports()[k], supports[k], 1e-15) << k;
  }
}

TEST(Haar, OfATreeWhoseFoldersStayWholeIsThatOfTheShorterTree) {
  const HaarBasis with(
      PartitionTree(Levels{{{0, 1, 2, 3}}, {{0, 1}, {2, 3}}, {{0}, {1}, {2, 3}}, {{0}, {1}, {2}, {3}}}));
  const HaarBasis without(PartitionTree(Levels{{{0, 1, 2, 3}}, {{0, 1}, {2, 3}}, {{0}, {1}, {2}, {3}}}));
  for (std::size_t e = 0; e < 4; ++e) EXPECT_EQ(with.forward(unit(4, e)), without.forward(unit(4, e)));
}

struct Extents {
  std::size_t outer, n, inner;
};

// Every line on its own, in double.
std::vector<double> by_lines(const std::vector<float>& values, const Extents& x, const HaarBasis& basis) {
  std::vector<double> result(values.size());
  for (std::size_t o = 0; o < x.outer; ++o) {
    for (std::size_t i = 0; i < x.inner; ++i) {
      std::vector<double> line(x.n);
      for (std::size_t e = 0; e < x.n; ++e) line[e] = values[(o * x.n + e) * x.inner + i];
      line = basis.forward(line);
      for (std::size_t e = 0; e < x.n; ++e) result[(o * x.n + e) * x.inner + i] = line[e];
    }
  }
  return result;
}

TEST(HaarTransform, TransformsEveryLineOfAnAxis) {
  for (const Extents& x : std::vector<Extents>{{1, 5, 1},
                                               {3, 7, 1},
                                               {200, 33, 1},
                                               {1, 40, 300},
                                               {7, 12, 3},
                                               {2, 1, 9},
                                               {5, 129, 17},
                                               {33, 64, 16},
                                               {1, 2, 2}}) {
    const HaarBasis basis(test::random_tree(x.n, 3));
    const std::vector<float> values = test::normals(x.outer * x.n * x.inner, 4);
    const std::vector<double> expected = by_lines(values, x, basis);
    std::vector<float> transformed = values;
    haar_transform(transformed, x.outer, basis, x.inner, HaarDirection::kForward);
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(transformed[i], expected[i], 40 * kFloat) << x.n;

    std::vector<double> precise(values.begin(), values.end());
    haar_transform(precise, x.outer, basis, x.inner, HaarDirection::kForward);
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(precise[i], expected[i], 1e-13);

    double l1 = 0;
    for (const double value : expected) l1 += std::abs(value);
    EXPECT_NEAR(haar_l1(values, x.outer, basis, x.inner), l1, 1e-6 * l1);

    haar_transform(transformed, x.outer, basis, x.inner, HaarDirection::kInverse);
    haar_transform(precise, x.outer, basis, x.inner, HaarDirection::kInverse);
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(transformed[i], values[i], 40 * kFloat);
      ASSERT_NEAR(precise[i], static_cast<double>(values[i]), 1e-13);
    }
  }
}

TEST(HaarTransform, KeepsTheNormToFloatRounding) {
  const HaarBasis basis(test::random_tree(1000, 1));
  std::vector<float> values = test::normals(1000 * 50, 9);
  double before = 0;
  for (const float value : values) before += static_cast<double>(value) * static_cast<double>(value);
  haar_transform(values, 1, basis, 50, HaarDirection::kForward);
  double after = 0;
  for (const float value : values) after += static_cast<double>(value) * static_cast<double>(value);
  EXPECT_NEAR(after / before, 1, 1e-6);
}

TEST(HaarTransform, HasTheSumsOfTheWholeInPartsCutBetweenBlocks) {
  const std::size_t n = 70, inner = 4000;
  const HaarBasis basis(test::random_tree(n, 1));
  const std::vector<float> values = test::normals(n * inner, 9);
  const std::size_t lines = haar_block_lines(basis, inner);
  const std::vector<double> whole = haar_l1_blocks(values, basis, inner, lines);
  ASSERT_GT(whole.size(), 2u);
  EXPECT_EQ(std::accumulate(whole.begin(), whole.end(), 0.0), haar_l1(values, 1, basis, inner));
  for (const std::size_t blocks : {1u, 2u}) {
    std::vector<double> sums;
    for (std::size_t begin = 0; begin < inner; begin += blocks * lines) {
      const std::size_t width = std::min(blocks * lines, inner - begin);
      std::vector<float> part;
      for (std::size_t i = 0; i < n; ++i) {
        const auto row = values.begin() + static_cast<std::ptrdiff_t>(i * inner + begin);
        part.insert(part.end(), row, row + static_cast<std::ptrdiff_t>(width));
      }
      const auto some = haar_l1_blocks(part, basis, width, lines);
      sums.insert(sums.end(), some.begin(), some.end());
    }
    EXPECT_EQ(sums, whole);
  }
  EXPECT_TRUE(haar_l1_blocks({}, basis, 0, lines).empty());
}

TEST(HaarTransform, DoesNotDependOnTheNumberOfThreads) {
  const HaarBasis basis(test::random_tree(60, 1));
  const std::vector<float> values = test::normals(60 * 700, 9);
  const auto run = [&](std::size_t threads) {
    set_thread_count(threads);
    std::vector<float> copy = values;
    haar_transform(copy, 1, basis, 700, HaarDirection::kForward);
    haar_transform(copy, 700, basis, 1, HaarDirection::kForward);
    const double l1 = haar_l1(values, 700, basis, 1);
    set_thread_count(0);
    return std::pair(copy, l1);
  };
  EXPECT_EQ(run(1), run(5));
}

}  // namespace
}  // namespace headscope
