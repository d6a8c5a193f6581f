#include "relate/layer_owner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace headscope {
namespace {

TEST(LayerOwner, EveryLayerHasOneOwnerAndWorkFromEarlierToLaterIsEven) {
  constexpr std::size_t kLayers = 24;
  for (std::size_t ranks = 1; ranks <= 4; ++ranks) {
    std::vector<std::size_t> seen(kLayers);
    std::vector<std::size_t> pairs(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      for (const std::size_t layer : layers_of(rank, ranks, kLayers)) {
        EXPECT_EQ(layer_owner(layer, ranks), rank);
        ++seen[layer];
        pairs[rank] += kLayers - 1 - layer;
      }
    }
    EXPECT_EQ(seen, std::vector<std::size_t>(kLayers, 1));
    EXPECT_LE(*std::ranges::max_element(pairs) - *std::ranges::min_element(pairs), kLayers / 8) << ranks;
  }
}

}  // namespace
}  // namespace headscope
