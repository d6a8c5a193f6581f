#include "organize/broadcast_tree.h"

#include <gtest/gtest.h>

#include "support/random_tree.h"
#include "support/thread_ranks.h"

namespace headscope {
namespace {

TEST(SharedTree, IsThatOfItsMakerOnEveryRank) {
  for (const std::size_t n : {1u, 2u, 40u}) {
    for (const std::size_t maker : {0u, 1u, 2u}) {
      const PartitionTree tree = test::random_tree(n, n + maker);
      test::on_ranks(3, [&](Ranks& ranks) {
        std::optional<PartitionTree> made;
        if (ranks.rank() == maker) made = tree;
        EXPECT_EQ(broadcast_tree(ranks, maker, made), tree) << "rank " << ranks.rank();
      });
    }
  }
}

}  // namespace
}  // namespace headscope
