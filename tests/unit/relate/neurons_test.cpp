#include "headscope/relate/neurons.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "headscope/base/tails.h"
#include "support/tiny_llama.h"

namespace headscope {
namespace {

// Neuron 5 of layer 0 writes the first query row of L1H2; gate 7 of layer 1 reads the second column of O of L0H3.
class Neurons : public testing::Test {
 protected:
  Neurons() {
    auto& values = llama_.values;
    const std::size_t d = 16;
    for (std::size_t i = 0; i < d; ++i) {
      values["model.layers.0.mlp.down_proj.weight"][i * 12 + 5] =
          3 * values["model.layers.1.self_attn.q_proj.weight"][8 * d + i];
      values["model.layers.1.mlp.gate_proj.weight"][7 * d + i] =
          values["model.layers.0.self_attn.o_proj.weight"][i * d + 13];
    }
    llama_.write(folder_);
  }

  [[nodiscard]] Model model() const { return Model::open(folder_.path()); }

  test::TinyLlama llama_;
  test::TemporaryFolder folder_;
};

TEST_F(Neurons, FindsThoseThatTalkToAHead) {
  const std::vector<HeadRole> heads = {{{1, 2, false}, Role::kQ}, {{0, 3, false}, Role::kO}};
  const std::vector<HeadNeurons> found = strongest_neurons(model(), heads, {WeightProcessing::kFolded, 3});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].compared, 12U);      // of layer 0
  EXPECT_EQ(found[1].compared, 2 * 24U);  // of both layers, up and gate
  ASSERT_EQ(found[0].top.size(), 3U);
  EXPECT_EQ(found[0].top[0].neuron, (NeuronId{0, 5, NeuronVector::kOut}));
  EXPECT_NEAR(found[0].top[0].share, 1, 1e-6);
  EXPECT_EQ(found[1].top[0].neuron, (NeuronId{1, 7, NeuronVector::kGate}));
  EXPECT_NEAR(found[1].top[0].share, 1, 1e-6);
  EXPECT_EQ(to_string(found[1].top[0].neuron), "L1N7");
  for (const HeadNeurons& head : found) {
    EXPECT_EQ(head.rank, 4U);
    EXPECT_TRUE(std::ranges::is_sorted(head.top, std::ranges::greater(), &NeuronScore::share));
    // The exact law of the share of a random direction.
    EXPECT_NEAR(head.top[1].log10_p, log_beta_upper_tail(head.top[1].share, 2, 6) / std::log(10), 1e-6);
    EXPECT_LT(head.top[0].q, 1e-6);
    EXPECT_GE(head.top[1].q, std::pow(10, head.top[1].log10_p));
  }
}

TEST_F(Neurons, AreNotFoundBeforeTheFirstLayer) {
  const std::vector<HeadRole> heads = {{{0, 0, false}, Role::kQ}};
  const std::vector<HeadNeurons> found = strongest_neurons(model(), heads);
  EXPECT_EQ(found[0].compared, 0U);
  EXPECT_TRUE(found[0].top.empty());
}

TEST_F(Neurons, HaveTokensWithASign) {
  auto& values = llama_.values;
  // What neuron 2 of layer 1 writes is against token 4, whose row is far from the mean.
  for (std::size_t i = 0; i < 16; ++i) values["lm_head.weight"][4 * 16 + i] *= 1000;
  for (std::size_t i = 0; i < 16; ++i) {
    values["model.layers.1.mlp.down_proj.weight"][i * 12 + 2] = -values["lm_head.weight"][4 * 16 + i];
  }
  llama_.write(folder_);
  const std::vector<NeuronId> neurons = {{1, 2, NeuronVector::kOut}, {0, 5, NeuronVector::kUp}};
  TokenProfileOptions options;
  options.top = 2;
  const std::vector<NeuronTokens> found = neuron_tokens(model(), neurons, options);
  ASSERT_EQ(found[0].top.size(), 2U);
  EXPECT_EQ(found[0].top[0].token, 4U);
  EXPECT_NEAR(found[0].top[0].score, -1, 1e-3);
  EXPECT_NEAR(found[0].top[1].log10_p, log_beta_upper_tail(std::pow(found[0].top[1].score, 2), 0.5, 7.5) / std::log(10),
              1e-4);
  EXPECT_EQ(found[1].neuron, neurons[1]);
}

TEST_F(Neurons, DoNotDependOnMemory) {
  const std::vector<HeadRole> heads = {{{1, 2, false}, Role::kQ}, {{1, 0, false}, Role::kQ}, {{0, 3, false}, Role::kO}};
  const std::vector<HeadNeurons> roomy = strongest_neurons(model(), heads);
  const std::vector<HeadNeurons> tight = strongest_neurons(model(), heads, {}, Context().with_memory(100));
  for (std::size_t i = 0; i < heads.size(); ++i) {
    ASSERT_EQ(roomy[i].top.size(), tight[i].top.size());
    for (std::size_t k = 0; k < roomy[i].top.size(); ++k) {
      EXPECT_EQ(roomy[i].top[k].neuron, tight[i].top[k].neuron);
      EXPECT_EQ(roomy[i].top[k].q, tight[i].top[k].q);
    }
  }
  const std::vector<NeuronId> neurons = {{1, 2, NeuronVector::kOut}, {0, 5, NeuronVector::kUp}};
  const std::vector<NeuronTokens> tokens = neuron_tokens(model(), neurons);
  const std::vector<NeuronTokens> few = neuron_tokens(model(), neurons, {}, Context().with_memory(100));
  for (std::size_t i = 0; i < neurons.size(); ++i) {
    ASSERT_EQ(tokens[i].top.size(), few[i].top.size());
    for (std::size_t k = 0; k < few[i].top.size(); ++k) EXPECT_EQ(tokens[i].top[k].token, few[i].top[k].token);
  }
}

}  // namespace
}  // namespace headscope
