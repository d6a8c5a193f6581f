#include "headscope/base/spelling.h"

#include <gtest/gtest.h>

#include <vector>

namespace headscope {
namespace {

TEST(Spelling, CountsEdits) {
  EXPECT_EQ(edits("", ""), 0U);
  EXPECT_EQ(edits("metric", "metric"), 0U);
  EXPECT_EQ(edits("metrics", "metric"), 1U);
  EXPECT_EQ(edits("kp", "pk"), 1U);  // neighbors swapped
  EXPECT_EQ(edits("kitten", "sitting"), 3U);
  EXPECT_EQ(edits("", "abc"), 3U);
}

TEST(Spelling, FindsTheNearestName) {
  const std::vector<std::string> names = {"--metric", "--max-q", "--memory", "--top", "-q"};
  EXPECT_EQ(nearest_name("--metrics", names), "--metric");
  EXPECT_EQ(nearest_name("--max_q", names), "--max-q");
  EXPECT_EQ(nearest_name("--Top", names), "--top");
  EXPECT_EQ(nearest_name("--mem", names), "--memory");  // its beginning
  EXPECT_EQ(nearest_name("--colour", names), "");
  EXPECT_EQ(nearest_name("-o", names), "");  // another letter is another option
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name(std::string(1000, 'm'), names), "");
}

TEST(Spelling, OffersNothingForAnotherShortWord) {
  const std::vector<std::string> names = {"pk", "cs", "cka"};
  EXPECT_EQ(did_you_mean("kp", names), " (did you mean 'pk'?)");
  EXPECT_EQ(did_you_mean("PK", names), " (did you mean 'pk'?)");
  EXPECT_EQ(did_you_mean("xx", names), "");
}

}  // namespace
}  // namespace headscope
