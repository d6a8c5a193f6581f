#include "report/token_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headscope::report {
namespace {

using ::testing::ElementsAre;

TEST(TokenBlocks, StayInOneRowAndLeaveSpecialTokensAlone) {
  Json tokens = {{"kind", "image"}, {"tokens", {{{"text", "[class]"}}, {{"text", "[register 0]"}}}}};
  for (std::size_t i = 0; i < 6; ++i) {
    tokens["tokens"].push_back({{"text", "patch"}, {"row", i / 3}, {"column", i % 3}});
  }
  const std::vector<std::size_t> groups = token_groups(tokens);
  EXPECT_THAT(block_starts(groups, 1), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(block_starts(groups, 2), ElementsAre(0, 1, 2, 4, 5, 7));
  EXPECT_THAT(block_starts(groups, 64), ElementsAre(0, 1, 2, 5));
  EXPECT_EQ(block_count(groups, 64), 4u);
}

TEST(TokenBlocks, LeaveTheFirstTokenOfATextAndThoseFromNowhereAlone) {
  const Json ids = {{"kind", "text"}, {"tokens", {{{"text", "a"}}, {{"text", "b"}}, {{"text", "c"}}, {{"text", "d"}}}}};
  EXPECT_THAT(block_starts(token_groups(ids), 2), ElementsAre(0, 1, 3));
  const Json text = {{"kind", "text"},
                     {"tokens",
                      {{{"text", "[CLS]"}},
                       {{"text", "a"}, {"begin", 0}, {"end", 1}},
                       {{"text", "b"}, {"begin", 1}, {"end", 2}},
                       {{"text", "[SEP]"}}}}};
  EXPECT_THAT(block_starts(token_groups(text), 4), ElementsAre(0, 1, 3));
}

TEST(TokenBlocks, AreThoseOfAnotherListOfTokens) {
  const Json cross = {{"tokens", {{{"text", "a"}}}}, {"query_tokens", {{{"text", "b"}}, {{"text", "c"}}}}};
  EXPECT_EQ(token_groups(cross).size(), 1u);
  EXPECT_THAT(block_starts(token_groups(cross, "query_tokens"), 4), ElementsAre(0, 1));
}

}  // namespace
}  // namespace headscope::report
