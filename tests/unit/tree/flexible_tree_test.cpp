#include "headscope/tree/flexible_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "headscope/base/parallel.h"
#include "support/affinities.h"
#include "support/expect_error.h"
#include "support/flexible_tree_reference.h"
#include "support/on_every_target.h"

namespace headscope {
namespace {

using Levels = std::vector<PartitionTree::Level>;

DoubleMatrix constant(std::size_t n, double value) {
  DoubleMatrix affinity(n, n);
  for (double& entry : affinity.values()) entry = value;
  return affinity;
}

// Element i is a copy of element source[i].
DoubleMatrix with_copies(const DoubleMatrix& affinity, const std::vector<std::size_t>& source) {
  DoubleMatrix result(source.size(), source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    for (std::size_t j = 0; j < source.size(); ++j) result(i, j) = affinity(source[i], source[j]);
  }
  return result;
}

// No affinity between the first `cut` elements and the others.
DoubleMatrix disconnected(DoubleMatrix affinity, std::size_t cut) {
  for (std::size_t i = 0; i < affinity.rows(); ++i) {
    for (std::size_t j = 0; j < affinity.rows(); ++j) {
      if ((i < cut) != (j < cut)) affinity(i, j) = 0;
    }
  }
  return affinity;
}

void expect_reference(const DoubleMatrix& affinity, const FlexibleTreeOptions& options = {}) {
  EXPECT_EQ(test::levels_of(flexible_tree(affinity, options)),
            test::levels_of(test::reference::flexible_tree(affinity, options)));
}

TEST(FlexibleTree, AgreesWithTheDefinitionOnRandomAffinities) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) expect_reference(test::random_affinity(2 + seed % 29, seed));
}

// So many that pairs are sorted in parts, more than once.
TEST(FlexibleTree, AgreesWithTheDefinitionOnManyElements) {
  expect_reference(test::random_affinity(90, 1));
  expect_reference(test::random_affinity(131, 2), {.epsilon = 0.2});
}

TEST(FlexibleTree, IsTheSameOnEveryTarget) {
  const DoubleMatrix affinity = test::random_affinity(45, 3);
  test::on_every_target([&] { expect_reference(affinity); });
}

TEST(FlexibleTree, AgreesWithTheDefinitionForOtherOptions) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const DoubleMatrix affinity = test::random_affinity(20, seed);
    expect_reference(affinity, {.epsilon = 0.1});
    expect_reference(affinity, {.epsilon = 4, .eigenpairs = 3});
    expect_reference(affinity, {.eigenpairs = 100});
  }
}

TEST(FlexibleTree, AgreesWithTheDefinitionWhereEntriesTie) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    DoubleMatrix affinity = test::random_affinity(5 + seed % 7, seed);
    for (double& entry : affinity.values()) entry = std::ceil(entry * 2) / 2;
    expect_reference(affinity);
  }
  for (const std::size_t n : {4u, 8u, 12u}) {
    expect_reference(test::planted_affinity(n, 2, 4, 0, 1));
    DoubleMatrix bipartite(n, n);
    for (std::size_t i = 0; i < n * n; ++i) bipartite.values()[i] = i / n % 2 != i % n % 2 ? 1 : 0;
    expect_reference(bipartite);
  }
}

TEST(FlexibleTree, AgreesWithTheDefinitionOnDuplicates) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::size_t n = 3 + seed % 8;
    std::vector<std::size_t> source(n + 12);
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = i < n ? i : random() % n;
    expect_reference(with_copies(test::random_affinity(n, seed), source));
  }
}

TEST(FlexibleTree, AgreesWithTheDefinitionOnDisconnectedGraphs) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const DoubleMatrix affinity = test::random_affinity(16, seed);
    expect_reference(disconnected(affinity, 1));
    expect_reference(disconnected(affinity, 7));
    DoubleMatrix with_zero_rows = disconnected(affinity, 3);
    for (std::size_t i = 0; i < 3 * 16; ++i) with_zero_rows.values()[i] = 0;
    expect_reference(with_zero_rows);
  }
}

TEST(FlexibleTree, OfOneAndTwoElementsIsTheOnlyOneThereIs) {
  for (const double value : {0.0, 0.3, 1.0}) {
    EXPECT_EQ(flexible_tree(constant(1, value)), PartitionTree(Levels{{{0}}}));
    EXPECT_EQ(flexible_tree(constant(2, value)), PartitionTree(Levels{{{0, 1}}, {{0}, {1}}}));
  }
}

TEST(FlexibleTree, PermutesWithItsInput) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const DoubleMatrix affinity = test::random_affinity(80, seed);
    const auto permutation = test::random_permutation(80, seed + 100);
    EXPECT_EQ(flexible_tree(test::permuted(affinity, permutation)),
              test::permuted(flexible_tree(affinity), permutation));
  }
}

TEST(FlexibleTree, DoesNotDependOnTheScaleOfTheAffinity) {
  const DoubleMatrix affinity = test::random_affinity(40, 3);
  for (const double scale : {0x1p-900, 0x1p900}) {
    DoubleMatrix scaled = affinity;
    for (double& entry : scaled.values()) entry *= scale;
    EXPECT_EQ(flexible_tree(scaled), flexible_tree(affinity));
  }
}

// Every folder lies within one group of `width` elements in a row or is a union of whole groups.
bool respects_groups(const PartitionTree& tree, std::size_t width) {
  for (const auto& level : test::levels_of(tree)) {
    for (const auto& folder : level) {
      std::map<std::size_t, std::size_t> counts;
      for (const std::size_t element : folder) ++counts[element / width];
      const bool whole = std::all_of(counts.begin(), counts.end(), [&](const auto& c) { return c.second == width; });
      if (counts.size() > 1 && !whole) return false;
    }
  }
  return true;
}

TEST(FlexibleTree, FindsPlantedGroupsOnTwoLevels) {
  // Twelve small groups: as many as twelve eigenvectors can tell apart. A group need not be a folder itself: two halves
  // of it and a whole neighbor may join in one level.
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const auto permutation = test::random_permutation(48, seed);
    std::vector<std::size_t> back(48);
    for (std::size_t i = 0; i < 48; ++i) back[permutation[i]] = i;
    const DoubleMatrix affinity = test::permuted(test::planted_affinity(48, 4, 12, 0.1, seed), permutation);
    const PartitionTree tree = test::permuted(flexible_tree(affinity), back);
    EXPECT_TRUE(respects_groups(tree, 4)) << seed;
    EXPECT_TRUE(respects_groups(tree, 12)) << seed;
    EXPECT_GE(tree.level_count(), 4u);
  }
  EXPECT_FALSE(respects_groups(flexible_tree(test::random_affinity(48, 1)), 4));
}

TEST(FlexibleTree, KeepsTheComponentsOfADisconnectedGraphApartUntilTheRoot) {
  const PartitionTree tree = flexible_tree(disconnected(test::random_affinity(50, 9), 20));
  EXPECT_TRUE(test::has_folder(tree, 0, 20));
  EXPECT_TRUE(test::has_folder(tree, 20, 50));
}

TEST(FlexibleTree, HalvesWhatItCannotTellApart) {
  for (const double value : {0.0, 0.7}) {
    const PartitionTree tree = flexible_tree(constant(100, value));
    EXPECT_EQ(tree.level_count(), 8u);
    EXPECT_TRUE(test::has_folder(tree, 98, 100));
  }
}

TEST(FlexibleTree, EndsOnAnAffinityWithoutStructureAndOnWildRanges) {
  DoubleMatrix identity(40, 40);
  for (std::size_t i = 0; i < 40; ++i) identity(i, i) = 1;
  EXPECT_LE(flexible_tree(identity).level_count(), 40u);

  DoubleMatrix wild = test::random_affinity(40, 1);
  for (double& entry : wild.values()) entry = std::pow(entry, 900);
  EXPECT_LE(flexible_tree(wild).level_count(), 40u);
  DoubleMatrix path(40, 40);
  for (std::size_t i = 0; i + 1 < 40; ++i) path(i, i + 1) = path(i + 1, i) = std::pow(1e-7, static_cast<double>(i));
  EXPECT_LE(flexible_tree(path).level_count(), 40u);
}

TEST(FlexibleTree, DoesNotDependOnTheNumberOfThreads) {
  const DoubleMatrix affinity = test::random_affinity(70, 8);
  set_thread_count(1);
  const PartitionTree one = flexible_tree(affinity);
  set_thread_count(4);
  const PartitionTree four = flexible_tree(affinity);
  set_thread_count(0);
  EXPECT_EQ(one, four);
}

TEST(FlexibleTree, RefusesWhatIsNoAffinity) {
  const auto with = [](std::size_t i, std::size_t j, double value) {
    DoubleMatrix affinity = constant(3, 1);
    affinity(i, j) = value;
    return affinity;
  };
  EXPECT_ERROR(flexible_tree(DoubleMatrix(2, 3)), ErrorKind::kInvalidArgument,
               "flexible_tree: the affinity is 2 x 3, expected a square");
  EXPECT_ERROR(flexible_tree(DoubleMatrix()), ErrorKind::kInvalidArgument, "the affinity is empty");
  EXPECT_ERROR(flexible_tree(with(1, 2, -0.5)), ErrorKind::kInvalidArgument, "affinity (1, 2) is -0.5");
  EXPECT_ERROR(flexible_tree(with(0, 0, NAN)), ErrorKind::kInvalidArgument, "affinity (0, 0) is nan");
  EXPECT_ERROR(flexible_tree(with(0, 1, INFINITY)), ErrorKind::kInvalidArgument, "affinity (0, 1) is inf");
  EXPECT_ERROR(flexible_tree(with(0, 1, 0.999)), ErrorKind::kInvalidArgument,
               "affinity (0, 1) is 0.999 and (1, 0) is 1, expected a symmetric matrix");
  EXPECT_NO_THROW(static_cast<void>(flexible_tree(with(0, 1, 0.9999999))));
}

TEST(FlexibleTree, RefusesOptionsThatMakeNoSense) {
  for (const double epsilon : {0.0, -1.0, double{NAN}, double{INFINITY}}) {
    EXPECT_ERROR(flexible_tree(constant(3, 1), {.epsilon = epsilon}), ErrorKind::kInvalidArgument, "epsilon is ");
  }
  EXPECT_ERROR(flexible_tree(constant(3, 1), {.eigenpairs = 1}), ErrorKind::kInvalidArgument, "1 eigenpairs");
}

}  // namespace
}  // namespace headscope
