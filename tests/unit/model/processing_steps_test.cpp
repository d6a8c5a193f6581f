#include "headscope/model/processing_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace headscope {
namespace {

const std::string kSource = HEADSCOPE_SOURCE_DIR;

TEST(ProcessingSteps, OfNamedProcessingsDependOnTheNorm) {
  ModelInfo info;
  info.order = NormOrder::kPre;
  info.norm = NormKind::kLayerNorm;
  EXPECT_EQ(steps_of(WeightProcessing::kFolded, info), (ProcessingSteps{true, true}));
  EXPECT_EQ(steps_of(WeightProcessing::kRaw, info), (ProcessingSteps{false, false}));
  info.norm = NormKind::kRmsNorm;
  EXPECT_EQ(steps_of(WeightProcessing::kFolded, info), (ProcessingSteps{true, false}));
  info.order = NormOrder::kPost;
  info.norm = NormKind::kLayerNorm;
  EXPECT_EQ(steps_of(WeightProcessing::kFolded, info), (ProcessingSteps{false, false}));
}

TEST(ProcessingSteps, HaveNames) {
  EXPECT_EQ(to_string(ProcessingSteps{true, true}), "gain and centering");
  EXPECT_EQ(to_string(ProcessingSteps{true, false}), "gain only");
  EXPECT_EQ(to_string(ProcessingSteps{false, true}), "centering only");
  EXPECT_EQ(to_string(ProcessingSteps{false, false}), "as stored");
}

// Raw weights with the steps of a named processing are the weights of that processing.
TEST(ProcessingSteps, AppliedToRawWeightsGiveTheFoldedOnes) {
  const Model model = Model::open(kSource + "/models/induction");
  for (const Role role : {Role::kQ, Role::kK, Role::kV, Role::kO}) {
    HeadWeights weights = model.load_heads(1, role, WeightProcessing::kRaw);
    const HeadWeights folded = model.load_heads(1, role, WeightProcessing::kFolded);
    EXPECT_FALSE(std::ranges::equal(weights.values(), folded.values()));
    apply_steps(model, 1, steps_of(WeightProcessing::kFolded, model.info()), weights);
    EXPECT_TRUE(std::ranges::equal(weights.values(), folded.values()));
  }
}

// Each switch does its own part: centering alone leaves columns of mean 0, also in an RMSNorm model.
TEST(ProcessingSteps, CenteringAloneRemovesTheMean) {
  const Model model = Model::open(kSource + "/tests/golden/affinities/grouped");
  HeadWeights weights = model.load_heads(0, Role::kK, WeightProcessing::kRaw);
  apply_steps(model, 0, {.gain = false, .center = true}, weights);
  for (std::size_t head = 0; head < weights.heads(); ++head) {
    for (std::size_t j = 0; j < weights.d_head(); ++j) {
      double sum = 0;
      for (const float value : weights.column(head, j)) sum += static_cast<double>(value);
      EXPECT_NEAR(sum, 0, 1e-4);
    }
  }
}

}  // namespace
}  // namespace headscope
