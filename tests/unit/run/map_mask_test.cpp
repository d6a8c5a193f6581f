#include "headscope/run/map_mask.h"

#include <gtest/gtest.h>

#include <string>

namespace headscope {
namespace {

// The keys that a query sees, as one character per key.
std::string seen(const MapDescription& maps, std::size_t layer, std::size_t query, std::size_t keys) {
  const MapMask mask(maps);
  std::string text;
  for (std::size_t key = 0; key < keys; ++key) text += mask.sees(layer, query, key) ? 'x' : '.';
  return text;
}

TEST(MapMask, OfBidirectionalMapsWithoutWindowsIsFull) {
  EXPECT_TRUE(MapMask({}).is_full());
  EXPECT_FALSE(MapMask({.causal = true}).is_full());
  EXPECT_FALSE(MapMask({.causal = true}).has_windows());
}

TEST(MapMask, WindowsLieBeforeACausalQueryAndOnBothSidesOfAnother) {
  MapDescription maps{.causal = true, .windows = {0, 2}};
  EXPECT_EQ(seen(maps, 0, 2, 5), "xxx..");
  EXPECT_EQ(seen(maps, 1, 2, 5), ".xx..");
  maps.causal = false;
  EXPECT_EQ(seen(maps, 0, 2, 5), "xxxxx");
  EXPECT_EQ(seen(maps, 1, 2, 5), ".xxx.");
}

TEST(MapMask, ChunksAreThoseOfTheQuery) {
  const MapDescription maps{.causal = true, .chunks = {2}};
  EXPECT_EQ(seen(maps, 0, 3, 5), "..xx.");
}

TEST(MapMask, PatchesSeeTheirOwnWindow) {
  MapDescription maps{.patch_windows = {{2, 0}, {2, 1}, {}}};
  for (std::size_t token = 0; token < 12; ++token) maps.places.emplace_back(token / 4, token % 4);  // 3 x 4
  EXPECT_EQ(seen(maps, 0, 0, 12), "xx..xx......");
  EXPECT_EQ(seen(maps, 0, 11, 12), "..........xx");  // cut off at the bottom
  EXPECT_EQ(seen(maps, 1, 0, 12), "x...........");
  EXPECT_EQ(seen(maps, 1, 5, 12),
            "....."
            "xx..xx.");
  EXPECT_EQ(seen(maps, 1, 7, 12), ".......x...x");
  EXPECT_EQ(seen(maps, 2, 0, 12), "xxxxxxxxxxxx");
}

TEST(PatchWindows, ThatCoverTheShorterSideAreNotShifted) {
  EXPECT_EQ((PatchWindows{7, 3}.in(7, 14)), (PatchWindows{7, 0}));
  EXPECT_EQ((PatchWindows{7, 3}.in(14, 14)), (PatchWindows{7, 3}));
}

}  // namespace
}  // namespace headscope
