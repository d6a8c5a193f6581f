#include "headscope/tree/partition_tree.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "support/affinities.h"
#include "support/expect_error.h"

namespace headscope {
namespace {

using Levels = std::vector<PartitionTree::Level>;
using Elements = std::vector<std::size_t>;

Elements elements(std::span<const std::size_t> span) {
  return {span.begin(), span.end()};
}

TEST(PartitionTree, PutsLevelsInDepthFirstOrderBySmallestElement) {
  const PartitionTree tree(
      Levels{{{4, 3, 2, 1, 0}}, {{4, 1}, {3, 2, 0}}, {{2}, {4}, {1}, {0, 3}}, {{4}, {3}, {2}, {1}, {0}}});
  EXPECT_EQ(test::levels_of(tree),
            (Levels{{{0, 3, 2, 1, 4}}, {{0, 3, 2}, {1, 4}}, {{0, 3}, {2}, {1}, {4}}, {{0}, {3}, {2}, {1}, {4}}}));
  EXPECT_EQ(elements(tree.order()), (Elements{0, 3, 2, 1, 4}));
  EXPECT_EQ(tree.size(), 5u);
  EXPECT_EQ(tree.level_count(), 4u);
  EXPECT_EQ(tree.folder_count(), 12u);
}

TEST(PartitionTree, LinksFoldersWithParentsAndChildren) {
  const PartitionTree tree(Levels{{{0, 1, 2, 3}}, {{0, 2}, {1, 3}}, {{0}, {1}, {2}, {3}}});
  using Folder = PartitionTree::Folder;
  const auto folders = [&](std::size_t level) {
    return std::vector<Folder>(tree.folders(level).begin(), tree.folders(level).end());
  };
  EXPECT_EQ(folders(0), (std::vector<Folder>{{0, 4, 0, 0, 2}}));
  EXPECT_EQ(folders(1), (std::vector<Folder>{{0, 2, 0, 0, 2}, {2, 4, 0, 2, 4}}));
  EXPECT_EQ(folders(2), (std::vector<Folder>{{0, 1, 0, 0, 0}, {1, 2, 0, 0, 0}, {2, 3, 1, 0, 0}, {3, 4, 1, 0, 0}}));
  EXPECT_EQ(elements(tree.elements(tree.folders(1)[1])), (Elements{1, 3}));
  EXPECT_EQ(tree.folders(1)[1].child_count(), 2u);
  EXPECT_EQ(tree.folders(2)[0].child_count(), 0u);
}

TEST(PartitionTree, EveryFolderIsTheUnionOfItsChildren) {
  Levels levels{{{}}};
  const Elements shuffled = test::random_permutation(97, 5);
  levels[0][0] = shuffled;
  for (const std::size_t width : {30u, 10u, 5u, 1u}) {
    PartitionTree::Level level;
    for (std::size_t i = 0; i < shuffled.size(); ++i) {
      if (i % width == 0) level.emplace_back();
      level.back().push_back(shuffled[i]);
    }
    levels.push_back(level);
  }
  const PartitionTree tree(levels);
  for (std::size_t k = 0; k < tree.level_count(); ++k) {
    std::size_t next = 0;
    for (std::size_t f = 0; f < tree.folders(k).size(); ++f) {
      const auto& folder = tree.folders(k)[f];
      EXPECT_EQ(folder.begin, next);
      next = folder.end;
      if (k + 1 == tree.level_count()) continue;
      const auto children = tree.folders(k + 1).subspan(folder.children_begin, folder.child_count());
      ASSERT_FALSE(children.empty());
      EXPECT_EQ(children.front().begin, folder.begin);
      EXPECT_EQ(children.back().end, folder.end);
      for (const auto& child : children) EXPECT_EQ(child.parent, f);
    }
    EXPECT_EQ(next, tree.size());
  }
}

TEST(PartitionTree, OfOneElementHasOneLevel) {
  const PartitionTree tree(Levels{{{0}}});
  EXPECT_EQ(tree.size(), 1u);
  EXPECT_EQ(tree.level_count(), 1u);
  EXPECT_EQ(tree.folders(0)[0].child_count(), 0u);
  EXPECT_ERROR(PartitionTree(Levels{{{0}}, {{0}}}), ErrorKind::kInvalidArgument, "level 1 is the same as level 0");
}

TEST(PartitionTree, ComparesAsSetsOfSets) {
  const PartitionTree tree(Levels{{{0, 1, 2}}, {{0, 2}, {1}}, {{0}, {1}, {2}}});
  EXPECT_EQ(tree, PartitionTree(Levels{{{2, 1, 0}}, {{1}, {2, 0}}, {{2}, {0}, {1}}}));
  EXPECT_NE(tree, PartitionTree(Levels{{{0, 1, 2}}, {{0, 1}, {2}}, {{0}, {1}, {2}}}));
  EXPECT_NE(tree, PartitionTree(Levels{{{0, 1, 2}}, {{0}, {1}, {2}}}));
}

TEST(PartitionTree, StaysWholeWhenItIsMovedFromOrItsOriginalGoes) {
  std::optional<PartitionTree> original(Levels{{{0, 1}}, {{0}, {1}}});
  PartitionTree copy = *original;
  const auto order = copy.order();
  original.reset();
  EXPECT_EQ(elements(order), (Elements{0, 1}));
  const PartitionTree moved = std::move(copy);  // NOLINT(performance-move-const-arg): a move leaves the original whole
  EXPECT_EQ(copy, moved);                       // NOLINT(bugprone-use-after-move): this is what is tested
}

TEST(PartitionTree, NamesWhatIsWrongWithTheLevels) {
  struct Broken {
    Levels levels;
    std::string message;
  };
  const std::vector<Broken> table = {
      {{}, "no levels"},
      {{{}}, "level 0 (the root) has 0 folders, expected 1"},
      {{{{0}, {1}}}, "level 0 (the root) has 2 folders, expected 1"},
      {{{{}}}, "level 0, folder 0 is empty"},
      {{{{0, 2}}}, "level 0, folder 0 holds element 2, expected less than 2"},
      {{{{0, 0}}}, "level 0, folder 0 holds element 0, which is already in folder 0 of this level"},
      {{{{0, 1}}}, "level 0 is the last and its folder 0 has 2 elements, expected 1"},
      {{{{0, 1}}, {{0}}}, "level 1 lacks element 1 of 2"},
      {{{{0, 1}}, {}}, "level 1 lacks element 0 of 2"},
      {{{{0, 1}}, {{0}, {}, {1}}}, "level 1, folder 1 is empty"},
      {{{{0, 1}}, {{0}, {1}, {7}}}, "level 1, folder 2 holds element 7, expected less than 2"},
      {{{{0, 1}}, {{0}, {1}, {0}}}, "level 1, folder 2 holds element 0, which is already in folder 0 of this level"},
      {{{{0, 1}}, {{0, 1}}, {{0}, {1}}}, "level 1 is the same as level 0"},
      {{{{0, 1, 2, 3}}, {{0, 1}, {2, 3}}, {{0}, {1, 2}, {3}}, {{0}, {1}, {2}, {3}}},
       "level 2, folder 1 holds elements 1 and 2, which are in two folders of level 1"},
      {{{{0, 1, 2}}, {{2}, {0, 1}}}, "level 1 is the last and its folder 1 has 2 elements, expected 1"},
  };
  for (const auto& [levels, message] : table) {
    EXPECT_ERROR(PartitionTree(levels), ErrorKind::kInvalidArgument, "partition tree: " + message);
  }
}

}  // namespace
}  // namespace headscope
