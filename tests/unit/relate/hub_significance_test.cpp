#include "headscope/relate/hub_significance.h"

#include <gtest/gtest.h>

#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/base/parallel.h"
#include "headscope/base/random.h"

namespace headscope {
namespace {

constexpr std::size_t kLayers = 4;
constexpr std::size_t kHeads = 8;

class HubTestTest : public testing::Test {
 protected:
  HubTestTest() {
    for (std::size_t layer = 0; layer < kLayers; ++layer) {
      for (std::size_t head = 0; head < kHeads; ++head) nodes_.push_back({layer, head, false});
    }
    z_ = Matrix(nodes_.size(), nodes_.size());
    for (float& value : z_.values()) value = 0;
  }

  // Links a tenth of all pairs.
  void link_at_random(std::uint64_t seed) {
    Random random(seed);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (std::size_t j = 0; j < nodes_.size(); ++j) {
        const bool later = nodes_[i].layer < nodes_[j].layer;
        z_(i, j) = later && random.uniform() < 0.1 ? static_cast<float>(4 + random.uniform()) : 0.0F;
      }
    }
  }

  [[nodiscard]] std::vector<Hub> test(std::size_t permutations = 200) const {
    std::vector<Hub> hubs(nodes_.size());
    for (std::size_t i = 0; i < hubs.size(); ++i) hubs[i].node = i;
    std::vector<HubEvidence> evidence;
    const std::vector<ComponentId> heads(nodes_.begin(), nodes_.end());
    evidence.push_back({heads, heads, [this](std::size_t i, std::size_t j) { return z_(i, j); }});
    test_hubs(evidence, heads, hubs, {.permutations = permutations, .seed = 1});
    return hubs;
  }

  std::vector<HeadId> nodes_;
  Matrix z_;
};

TEST_F(HubTestTest, FindsAHeadWithManyLinksAndNoOther) {
  link_at_random(1);
  for (std::size_t j = kHeads; j < 3 * kHeads; ++j) z_(2, j) = 5;
  const std::vector<Hub> hubs = test();
  EXPECT_EQ(hubs[0].node, 2U);
  EXPECT_TRUE(hubs[0].significant);
  EXPECT_LT(hubs[0].p_family, 0.01);
  EXPECT_GE(hubs[0].strength, 80);
  EXPECT_FALSE(hubs[1].significant);
}

TEST_F(HubTestTest, RandomLinksHaveAHubInAboutOneOfTwentyCases) {
  std::size_t with_hub = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    link_at_random(seed);
    with_hub += test(100)[0].significant ? 1 : 0;
  }
  EXPECT_LE(with_hub, 5U);
}

TEST_F(HubTestTest, ALayerWithManyLinksIsNoHub) {
  // All pairs of the first two layers are linked: no head of them has more links than its layer explains.
  for (std::size_t i = 0; i < kHeads; ++i) {
    for (std::size_t j = kHeads; j < 2 * kHeads; ++j) z_(i, j) = 5;
  }
  for (const Hub& hub : test()) EXPECT_EQ(hub.p_family, 1);
}

TEST_F(HubTestTest, WithoutLinksNothingIsAHub) {
  for (const Hub& hub : test()) {
    EXPECT_EQ(hub.p_family, 1);
    EXPECT_EQ(hub.strength, 0);
    EXPECT_FALSE(hub.significant);
  }
}

TEST_F(HubTestTest, DoesNotDependOnThreads) {
  link_at_random(3);
  set_thread_count(1);
  const std::vector<Hub> one = test();
  set_thread_count(3);
  const std::vector<Hub> three = test();
  set_thread_count(0);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].node, three[i].node);
    EXPECT_EQ(one[i].p_family, three[i].p_family);
  }
}

}  // namespace
}  // namespace headscope
