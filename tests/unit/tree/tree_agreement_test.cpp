#include "headscope/tree/tree_agreement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/affinities.h"
#include "support/expect_error.h"
#include "support/random_tree.h"

namespace headscope {
namespace {

using Classes = std::vector<std::size_t>;
using Levels = std::vector<PartitionTree::Level>;

TEST(AdjustedRandIndex, HasKnownValues) {
  EXPECT_EQ(adjusted_rand_index(Classes{0, 0, 1, 1}, Classes{5, 5, 2, 2}), 1);
  // scikit-learn: adjusted_rand_score([0, 0, 1, 1], [0, 0, 1, 2]) = 0.5714285714285714
  EXPECT_NEAR(adjusted_rand_index(Classes{0, 0, 1, 1}, Classes{0, 0, 1, 2}), 4.0 / 7, 1e-12);
  EXPECT_NEAR(adjusted_rand_index(Classes{0, 0, 1, 1}, Classes{0, 1, 0, 1}), -0.5, 1e-12);
  EXPECT_EQ(adjusted_rand_index(Classes{0, 0, 0}, Classes{0, 1, 2}), 0);
  EXPECT_EQ(adjusted_rand_index(Classes{0, 1, 2}, Classes{2, 1, 0}), 1);
  EXPECT_ERROR(adjusted_rand_index(Classes{0}, Classes{0, 1}), ErrorKind::kInvalidArgument, "1 and 2 elements");
}

TEST(AdjustedRandIndex, IsZeroInTheMeanOverRandomPartitions) {
  double sum = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const auto a = test::random_permutation(30, seed);
    const auto b = test::random_permutation(30, seed + 1000);
    Classes first(30), second(30);
    for (std::size_t i = 0; i < 30; ++i) {
      first[i] = a[i] / 6;
      second[i] = b[i] / 10;
    }
    sum += adjusted_rand_index(first, second);
  }
  EXPECT_NEAR(sum / 400, 0, 0.01);
}

TEST(Cophenetic, CorrelatesATreeWithItselfAndNotWithAShuffledOne) {
  const PartitionTree tree = test::random_tree(120, 3);
  EXPECT_NEAR(cophenetic_correlation(tree, tree), 1, 1e-12);
  EXPECT_LT(std::abs(cophenetic_correlation(tree, shuffled(tree, 1))), 0.15);
}

TEST(Cophenetic, IsThePearsonCorrelationOfVolumes) {
  const PartitionTree a(Levels{{{0, 1, 2, 3}}, {{0, 1}, {2, 3}}, {{0}, {1}, {2}, {3}}});
  const PartitionTree b(Levels{{{0, 1, 2, 3}}, {{0, 1, 2}, {3}}, {{0}, {1}, {2}, {3}}});
  // Pairs 01 02 03 12 13 23: 2 4 4 4 4 2 and 3 3 4 3 4 4.
  const double xy = (-4.0 / 3) * (-0.5) + (2.0 / 3) * (-0.5 + 0.5 - 0.5 + 0.5) + (-4.0 / 3) * 0.5;
  EXPECT_NEAR(cophenetic_correlation(a, b), xy, 1e-12);
  const PartitionTree star(Levels{{{0, 1, 2, 3}}, {{0}, {1}, {2}, {3}}});
  EXPECT_TRUE(std::isnan(cophenetic_correlation(a, star)));
}

TEST(LevelAgreements, PairLevelsOfNearestSize) {
  const PartitionTree tree = test::random_tree(60, 5);
  const auto levels = level_agreements(tree, tree);
  EXPECT_EQ(levels.size(), tree.level_count() - 2);
  for (const LevelAgreement& level : levels) {
    EXPECT_EQ(level.level_a, level.level_b);
    EXPECT_EQ(level.rand_index, 1);
  }
  EXPECT_TRUE(level_agreements(tree, test::permuted(PartitionTree(Levels{{test::random_permutation(60, 1)},
                                                                         [] {
                                                                           PartitionTree::Level leaves;
                                                                           for (std::size_t i = 0; i < 60; ++i)
                                                                             leaves.push_back({i});
                                                                           return leaves;
                                                                         }()}),
                                                    test::random_permutation(60, 2)))
                  .empty());
}

TEST(Shuffled, KeepsTheShapeAndDependsOnSeedAndStream) {
  const PartitionTree tree = test::random_tree(40, 5);
  const PartitionTree other = shuffled(tree, 1);
  ASSERT_EQ(other.level_count(), tree.level_count());
  for (std::size_t k = 0; k < tree.level_count(); ++k) {
    std::vector<std::size_t> a, b;
    for (const auto& folder : tree.folders(k)) a.push_back(folder.size());
    for (const auto& folder : other.folders(k)) b.push_back(folder.size());
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    EXPECT_EQ(a, b);
  }
  EXPECT_EQ(other, shuffled(tree, 1));
  EXPECT_NE(other, shuffled(tree, 2));
  EXPECT_NE(other, shuffled(tree, 1, 1));
}

}  // namespace
}  // namespace headscope
