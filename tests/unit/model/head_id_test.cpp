#include "headscope/model/head_id.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace headscope {
namespace {

TEST(HeadId, IsWrittenAsLayerAndHead) {
  EXPECT_EQ(to_string(HeadId{4, 7, false}), "L4H7");
  EXPECT_EQ(to_string(HeadId{4, 1, true}), "L4KV1");
  EXPECT_EQ(to_string(HeadId{}), "L0H0");
  EXPECT_EQ(to_string(HeadId{11, 10, false}), "L11H10");
}

TEST(HeadId, IsReadInEverySpelling) {
  for (const char* text : {"L4H7", "l4h7", "L4h7", "4.7", "4,7", "L04H07"}) {
    EXPECT_EQ(parse_head(text), (HeadId{4, 7, false})) << text;
  }
  for (const char* text : {"L4KV1", "l4kv1", "L4Kv1"}) {
    EXPECT_EQ(parse_head(text), (HeadId{4, 1, true})) << text;
  }
  EXPECT_EQ(parse_head("4.10"), (HeadId{4, 10, false}));
}

TEST(HeadId, IsReadBackAsWritten) {
  const std::size_t largest = std::numeric_limits<std::size_t>::max();
  for (const HeadId id : {HeadId{0, 0, false}, HeadId{31, 127, false}, HeadId{79, 7, true}, HeadId{largest, 1, true}}) {
    EXPECT_EQ(parse_head(to_string(id)), id);
  }
}

TEST(HeadId, IsNotReadFromAnythingElse) {
  for (const std::string text : {"",
                                 "L",
                                 "L4",
                                 "L4H",
                                 "LH7",
                                 "H7",
                                 "4",
                                 "4.",
                                 ".7",
                                 "4..7",
                                 "4.7.1",
                                 "4:7",
                                 "4 7",
                                 " 4.7",
                                 "4.7 ",
                                 "4.7\n",
                                 "L4.7",
                                 "L4,7",
                                 "4H7",
                                 "4KV1",
                                 "L4K1",
                                 "L4V1",
                                 "L4KVH1",
                                 "L-4H7",
                                 "-4.7",
                                 "+4.7",
                                 "4.+7",
                                 "4.-7",
                                 "L4H7x",
                                 "0x4.7",
                                 "4.7e1",
                                 "\xD9\xA4.7",
                                 "L18446744073709551616H0",
                                 "0.99999999999999999999"}) {
    EXPECT_EQ(parse_head(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_head(std::string("4.7\0", 4)), std::nullopt);
}

TEST(HeadId, IsOrderedByLayerThenKindThenNumber) {
  std::vector<HeadId> heads;
  for (const char* text : {"L2H0", "L1KV0", "L1H10", "L1H9", "L0KV3", "L1KV1"}) heads.push_back(*parse_head(text));
  std::ranges::sort(heads);
  std::string joined;
  for (const HeadId id : heads) joined += to_string(id) + " ";
  EXPECT_EQ(joined, "L0KV3 L1H9 L1H10 L1KV0 L1KV1 L2H0 ");
}

}  // namespace
}  // namespace headscope
