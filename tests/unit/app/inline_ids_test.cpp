#include "app/inline_ids.h"

#include <gtest/gtest.h>

#include <vector>

namespace headscope::app {
namespace {

using Ids = std::vector<std::uint32_t>;

TEST(InlineIds, AreNumbersWithCommas) {
  EXPECT_EQ(parse_ids("1,2,3"), (Ids{1, 2, 3}));
  EXPECT_EQ(parse_ids(" [1, 2,\n3] "), (Ids{1, 2, 3}));
  EXPECT_EQ(parse_ids("7"), Ids{7});
  EXPECT_EQ(parse_ids("4294967295"), Ids{4294967295U});
  for (const char* text :
       {"", "[]", "1,", "1,,2", "a", "1 2", "-1,2", "1.5,2", "4294967296", "1,2]", "ids.npy", "[1", "1,2x"}) {
    EXPECT_FALSE(parse_ids(text)) << text;
  }
}

TEST(InlineIds, AreNoticedInTexts) {
  for (const char* text : {"1, 2, 3", "[1, 2, 3]", "15496 11 995", "[5]"}) EXPECT_TRUE(looks_like_ids(text)) << text;
  for (const char* text : {"", "1984", "7, 8", "In 1984", "1.5, 2.5, 3.5", "1-2-3", "10:30", "1, 2, 3!"}) {
    EXPECT_FALSE(looks_like_ids(text)) << text;
  }
}

}  // namespace
}  // namespace headscope::app
