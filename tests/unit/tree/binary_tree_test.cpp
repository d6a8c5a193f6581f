#include "headscope/tree/binary_tree.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "headscope/base/parallel.h"
#include "support/affinities.h"
#include "support/expect_error.h"

namespace headscope {
namespace {

using Levels = std::vector<PartitionTree::Level>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Two parts by every cut, none smaller than the option allows.
void expect_binary(const PartitionTree& tree, double balance) {
  for (std::size_t k = 0; k + 1 < tree.level_count(); ++k) {
    for (const auto& folder : tree.folders(k)) {
      ASSERT_EQ(folder.child_count(), folder.size() == 1 ? 1u : 2u);
      const double smallest = std::floor(static_cast<double>(folder.size()) / (1 + balance));
      for (std::size_t c = folder.children_begin; c < folder.children_end; ++c) {
        EXPECT_GE(static_cast<double>(tree.folders(k + 1)[c].size()), smallest);
      }
    }
  }
}

TEST(BinaryTree, CutsEveryFolderInTwoWithinTheBalance) {
  for (const double balance : {1.0, 1.5, 3.0, kInfinity}) {
    for (const std::size_t n : {1u, 2u, 3u, 5u, 16u, 41u}) {
      expect_binary(binary_tree(test::random_affinity(n, n), {.balance = balance}), balance);
    }
  }
}

TEST(BinaryTree, HalvesAllTheWayAtBalanceOne) {
  EXPECT_EQ(binary_tree(test::random_affinity(64, 2), {.balance = 1}).level_count(), 7u);
}

TEST(BinaryTree, OfOneAndTwoElementsIsTheOnlyOneThereIs) {
  for (const double value : {0.0, 0.3}) {
    DoubleMatrix one(1, 1);
    one(0, 0) = value;
    EXPECT_EQ(binary_tree(one), PartitionTree(Levels{{{0}}}));
    DoubleMatrix two(2, 2);
    for (double& entry : two.values()) entry = value;
    EXPECT_EQ(binary_tree(two), PartitionTree(Levels{{{0, 1}}, {{0}, {1}}}));
  }
}

TEST(BinaryTree, CutsWhereTheEigenvectorOfAWeakLinkChangesSign) {
  // Two cliques of 3 and 5 with a thread between them: the cut is the thread, although it is not in the middle.
  DoubleMatrix affinity(8, 8);
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 8; ++j) affinity(i, j) = (i < 3) == (j < 3) ? 1 : 0;
  }
  affinity(2, 3) = affinity(3, 2) = 0.1;
  const PartitionTree tree = binary_tree(affinity);
  EXPECT_EQ(tree.folders(1)[0].size(), 3u);
  EXPECT_TRUE(test::has_folder(tree, 0, 3));
  // A balance of 1 pulls over the element at the thread's other end.
  EXPECT_TRUE(test::has_folder(binary_tree(affinity, {.balance = 1}), 0, 4));
}

TEST(BinaryTree, FindsPlantedFoldersOnTwoLevels) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const PartitionTree tree = binary_tree(test::planted_affinity(32, 8, 16, 0.1, seed));
    for (std::size_t begin = 0; begin < 32; begin += 8) EXPECT_TRUE(test::has_folder(tree, begin, begin + 8));
    for (std::size_t begin = 0; begin < 32; begin += 16) EXPECT_TRUE(test::has_folder(tree, begin, begin + 16));
  }
}

TEST(BinaryTree, CutsOffOneComponentAtATime) {
  DoubleMatrix affinity(9, 9);
  for (std::size_t i = 0; i < 9; ++i) {
    for (std::size_t j = 0; j < 9; ++j) affinity(i, j) = i / 3 == j / 3 ? 1 : 0;
  }
  const PartitionTree tree = binary_tree(affinity);
  EXPECT_EQ(test::levels_of(tree)[1], (PartitionTree::Level{{0, 1, 2}, {3, 4, 5, 6, 7, 8}}));
  EXPECT_TRUE(test::has_folder(tree, 3, 6));
  EXPECT_TRUE(test::has_folder(tree, 6, 9));
}

TEST(BinaryTree, PermutesWithItsInput) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const DoubleMatrix affinity = test::random_affinity(50, seed);
    const auto permutation = test::random_permutation(50, seed + 100);
    EXPECT_EQ(binary_tree(test::permuted(affinity, permutation), {.balance = kInfinity}),
              test::permuted(binary_tree(affinity, {.balance = kInfinity}), permutation));
  }
}

TEST(BinaryTree, EndsWhereThereIsNothingToTellElementsApart) {
  expect_binary(binary_tree(DoubleMatrix(20, 20)), 3);
  DoubleMatrix identity(20, 20);
  for (std::size_t i = 0; i < 20; ++i) identity(i, i) = 1;
  expect_binary(binary_tree(identity), 3);
  DoubleMatrix no_diagonal(20, 20);
  for (std::size_t i = 0; i < 400; ++i) no_diagonal.values()[i] = i % 21 == 0 ? 0 : 1;
  expect_binary(binary_tree(no_diagonal), 3);
}

TEST(BinaryTree, DoesNotDependOnTheNumberOfThreads) {
  const DoubleMatrix affinity = test::random_affinity(60, 8);
  set_thread_count(1);
  const PartitionTree one = binary_tree(affinity);
  set_thread_count(4);
  const PartitionTree four = binary_tree(affinity);
  set_thread_count(0);
  EXPECT_EQ(one, four);
}

TEST(BinaryTree, RefusesWhatMakesNoSense) {
  EXPECT_ERROR(binary_tree(DoubleMatrix(2, 3)), ErrorKind::kInvalidArgument, "binary_tree: the affinity is 2 x 3");
  for (const double balance : {0.5, -1.0, double{NAN}}) {
    EXPECT_ERROR(binary_tree(DoubleMatrix(2, 2), {.balance = balance}), ErrorKind::kInvalidArgument,
                 "expected at least 1");
  }
}

}  // namespace
}  // namespace headscope
