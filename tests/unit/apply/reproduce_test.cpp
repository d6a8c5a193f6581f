#include "headscope/apply/reproduce.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "support/tiny_gpt2.h"

namespace headscope {
namespace {

TEST(Reproduce, RefusesAModelOfAnotherShape) {
  const test::TemporaryFolder folder;
  test::TinyGpt2().write(folder);
  EXPECT_ERROR(reproduce(Model::open(folder.path())), ErrorKind::kUnsupported,
               "has 2 layers of 2 heads of width 2 in 4 dimensions; the published figures are for GPT-2 small");
}

TEST(ReproducedFigure, IsMetWithinItsToleranceAndHasNoVerdictWithoutOne) {
  const ReproducedFigure figure{"mean pk QQ", 8.467, 0.01, 8.470, 8.480, true};
  EXPECT_EQ(figure.met(WeightProcessing::kFolded), true);
  EXPECT_EQ(figure.met(WeightProcessing::kRaw), false);
  const ReproducedFigure orientation{"class score", 0.4, 0, 0.4, 0.4, false};
  EXPECT_EQ(orientation.met(WeightProcessing::kFolded), std::nullopt);
}

TEST(ReproducedProfile, CountsThePublishedWordsAmongOurs) {
  const ReproducedProfile profile{"L9H6 Q", {"Dog", "Land", "egg"}, {"Dog", "Dog", "cat", "egg"}, {"dog", "Lands"}};
  EXPECT_EQ(profile.shared(WeightProcessing::kFolded), 2u);
  EXPECT_EQ(profile.shared(WeightProcessing::kRaw), 0u);
}

}  // namespace
}  // namespace headscope
