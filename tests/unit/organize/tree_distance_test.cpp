#include "headscope/organize/tree_distance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "headscope/base/parallel.h"
#include "support/expect_error.h"
#include "support/on_every_target.h"
#include "support/random_tree.h"
#include "support/tensor_case.h"
#include "support/tree_distance_ranks.h"

namespace headscope {
namespace {

using Case = test::TensorCase;

DoubleMatrix distances(const TensorSlices& slices, AbsentEntries absent, const PartitionTree& rows,
                       const PartitionTree& columns, const FolderWeightOptions& weights = {}) {
  return test::distances(*cpu_tree_distance(), slices, absent, rows, columns, weights);
}

void expect_reference(const Case& c, AbsentEntries absent, bool shared, const FolderWeightOptions& weights) {
  test::expect_reference(*cpu_tree_distance(), c, absent, shared, weights);
}

TEST(TreeDistance, EqualsItsDefinition) {
  for (const auto& shape : test::kTensorShapes) {
    const Case c(shape, 1);
    expect_reference(c, AbsentEntries::kZero, false, {});
    expect_reference(c, AbsentEntries::kZero, false, {.alpha = 1, .beta = 0});
    expect_reference(c, AbsentEntries::kLeftOut, false, {.alpha = 0.5, .beta = -0.3});
  }
}

TEST(TreeDistance, EqualsItsDefinitionOnEveryTarget) {
  Case c({9, 100, 6}, 1);
  test::on_every_target([&] { expect_reference(c, AbsentEntries::kZero, false, {}); });
  c.hide(0.5, false, 6);
  test::on_every_target([&] { expect_reference(c, AbsentEntries::kLeftOut, false, {}); });
}

TEST(TreeDistance, CountsAbsentEntriesAsZero) {
  for (const auto& shape : test::kTensorShapes) {
    Case c(shape, 2);
    c.hide(0.4, false, 5);
    expect_reference(c, AbsentEntries::kZero, false, {});
  }
}

TEST(TreeDistance, LeavesAbsentEntriesOut) {
  for (const bool shared : {false, true}) {
    for (const auto& shape : test::kTensorShapes) {
      Case c(shape, 3);
      c.hide(0.6, shared, 6);
      expect_reference(c, AbsentEntries::kLeftOut, shared, {});
      expect_reference(c, AbsentEntries::kLeftOut, shared, {.alpha = 1, .beta = 0});
    }
  }
}

TEST(TreeDistance, OfEqualSlicesIsExactlyZeroAndTheirRowsAreEqual) {
  test::expect_equal_slices_to_be_as_one(*cpu_tree_distance(), 45);
}

TEST(TreeDistance, DoesNotSeeWhatAllSlicesShare) {
  test::expect_blind_to_what_slices_share(*cpu_tree_distance());
}

TEST(TreeDistance, DoesNotDependOnTheNumberOfThreads) {
  Case c({70, 40, 90}, 6);
  const PartitionTree rows = test::random_tree(40, 1);
  const PartitionTree columns = test::random_tree(90, 2);
  const auto run = [&](std::size_t threads) {
    set_thread_count(threads);
    const DoubleMatrix d = distances(c.slices(0), AbsentEntries::kZero, rows, columns);
    set_thread_count(0);
    return std::vector<double>(d.values().begin(), d.values().end());
  };
  EXPECT_EQ(run(1), run(4));
}

TEST(TreeDistance, StopsWhenItsProgressThrows) {
  const Case c({40, 30, 200}, 7);
  struct Stop {};
  const auto bound = cpu_tree_distance()->bind(c.slices(0), AbsentEntries::kZero);
  double last = 0;
  const auto compute = [&](const Context& context) {
    static_cast<void>(bound->compute(test::random_tree(30, 1), test::random_tree(200, 2), {}, context));
  };
  EXPECT_NO_THROW(compute({.on_progress = [&](std::string_view, double share) { last = share; }}));
  EXPECT_EQ(last, 1);
  EXPECT_THROW(compute({.on_progress = [](std::string_view, double) { throw Stop(); }}), Stop);
}

TEST(WeightedFolders, AreDistinctAndListEveryFolderAfterWhatItHolds) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const PartitionTree tree = test::random_tree(60, seed);
    const auto folders = weighted_folders(tree, {.alpha = 0.7, .beta = 0.3});
    EXPECT_LE(folders.size(), 2 * 60 - 1u);
    double total = 0;
    double expected = 0;
    for (std::size_t f = 0; f < folders.size(); ++f) {
      total += folders[f].weight;
      if (f + 1 == folders.size()) continue;
      const auto& parent = folders[folders[f].parent];
      EXPECT_GT(folders[f].parent, f);
      EXPECT_LE(parent.begin, folders[f].begin);
      EXPECT_GE(parent.end, folders[f].end);
      EXPECT_GT(parent.size(), folders[f].size());
    }
    const auto levels = test::levels_of(tree);
    for (std::size_t k = 0; k < levels.size(); ++k) {
      for (const auto& folder : levels[k]) expected += test::reference::weight(folder.size(), 60, k + 1, 0.7, 0.3);
    }
    EXPECT_NEAR(total, expected, 1e-12 * expected);
  }
  EXPECT_ERROR(weighted_folders(test::random_tree(4, 1), {.alpha = INFINITY}), ErrorKind::kInvalidArgument,
               "alpha is inf");
}

TEST(TreeDistance, AnyNumberOfRanksGetsTheBitsOfOne) {
  const std::vector<std::size_t> sizes = {2, 3, 4, 5};
  test::expect_ranks_to_get_the_bits_of_one([] { return cpu_tree_distance(); }, sizes);
}

}  // namespace
}  // namespace headscope
