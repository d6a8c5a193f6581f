#include "headscope/organize/softmax_invariance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/expect_error.h"
#include "support/hidden_tensor.h"
#include "support/random.h"

namespace headscope {
namespace {

using Extents = std::array<std::size_t, 3>;
using test::HiddenTensor;

NetworkTensor scores(const HiddenTensor& hidden, MaskChoice::Kind mask = MaskChoice::Kind::kNone) {
  NetworkTensorOptions options;
  options.kind = MapKind::kScores;
  options.keep_absent = true;
  options.mask.kind = mask;
  return hidden.tensor(options);
}

TEST(SoftmaxInvariance, TakesTheSoftmaxOverWhatIsPresent) {
  const HiddenTensor hidden({1, 12, 12}, 2, 0.7, 0.5, 1);
  for (const auto mask : {MaskChoice::Kind::kNone, MaskChoice::Kind::kCausal}) {
    const NetworkTensor tensor = scores(hidden, mask);
    const DoubleMatrix g = log_softmax(tensor, 0);
    for (std::size_t q = 0; q < 12; ++q) {
      double all = 0;
      double present = 0;
      for (std::size_t k = 0; k < 12; ++k) {
        const bool here = mask == MaskChoice::Kind::kNone || k <= q;
        all += std::exp(hidden.values[q * 12 + k]);
        if (here) present += std::exp(static_cast<double>(hidden.values[q * 12 + k]));
      }
      for (std::size_t k = 0; k < 12; ++k) {
        EXPECT_NEAR(std::exp(g(q, k)), std::exp(static_cast<double>(hidden.values[q * 12 + k])) / present, 1e-12);
      }
      EXPECT_GE(all * (1 + 1e-6), present);
    }
  }
}

TEST(SoftmaxInvariance, FindsTheOrganizationOfSmoothScoresInTheirSoftmax) {
  const HiddenTensor hidden({1, 64, 64}, 4, 0.5, 0.01, 2);
  const HeadInvariance found = softmax_invariance(scores(hidden), 0);
  EXPECT_LT(found.found.error_second, found.shuffled.error_second);
  EXPECT_LT(found.found.error_second, found.found.error_first);
  EXPECT_GT(found.scores_softmax.affinity_query, 0.8);
  EXPECT_GT(found.scores_softmax.cophenetic_key, 0.5);
  EXPECT_GT(found.found.scores.alpha, found.shuffled.scores.alpha + 0.2);
  EXPECT_GT(found.found.residual.alpha, found.found.scores.alpha);
  EXPECT_FALSE(found.scores_softmax.levels_query.empty());
  for (std::size_t i = 0; i < 64 * 64; ++i) {
    ASSERT_NEAR(found.parts.telescoped.values()[i], found.parts.target.values()[i], 1e-12);
  }
}

TEST(SoftmaxInvariance, AnOrganizationAgreesWithItself) {
  const HiddenTensor hidden({1, 20, 24}, 3, 0.5, 0.1, 2);
  const Organization o = organize(scores(hidden), QuestionnaireOptions::for_one_map());
  const OrganizationAgreement same = agreement(o, o);
  EXPECT_NEAR(same.affinity_query, 1, 1e-12);
  EXPECT_NEAR(same.cophenetic_key, 1, 1e-12);
  EXPECT_NEAR(same.rand_query, 1, 1e-12);
}

TEST(SoftmaxInvariance, WorksUnderACausalMaskAndReportsProgress) {
  const HiddenTensor hidden({2, 24, 24}, 3, 0.5, 0.1, 3);
  double last = 0;
  bool ascending = true;
  Context context;
  context.on_progress = [&](std::string_view, double share) {
    ascending = ascending && share >= last - 1e-12;
    last = share;
  };
  const HeadInvariance found = softmax_invariance(scores(hidden, MaskChoice::Kind::kCausal), 1, {}, context);
  EXPECT_TRUE(ascending);
  EXPECT_NEAR(last, 1, 1e-12);
  EXPECT_TRUE(std::isfinite(found.found.error_second));
  EXPECT_EQ(found.head, "H1");
}

TEST(SoftmaxInvariance, RefusesPatterns) {
  const Extents shape = {1, 4, 4};
  const std::vector<float> uniform(16, 0.25F);
  EXPECT_ERROR(softmax_invariance(make_network_tensor(uniform, shape, {}, "x"), 0), ErrorKind::kInvalidArgument,
               "the maps are patterns");
  NetworkTensorOptions options;
  options.kind = MapKind::kScores;
  EXPECT_ERROR(softmax_invariance(make_network_tensor(uniform, shape, options, "x"), 0), ErrorKind::kFormat,
               "so softmax was already applied");
}

}  // namespace
}  // namespace headscope
