// The screen of all edges of tiny models of several families, against one pass of PyTorch per edge
// (tests/golden/make_patch.py), and what holds for every screen.

#include "headscope/patch/screen.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "headscope/base/parallel.h"
#include "support/expect_error.h"
#include "support/golden_inputs.h"
#include "support/patch_case.h"

namespace headscope {
namespace {

using test::kReadingRoles;
using test::kReplacements;
using test::PatchCase;

class ScreenCase : public testing::TestWithParam<std::string> {};

TEST_P(ScreenCase, AgreesWithPyTorch) {
  const PatchCase one(GetParam());
  const RecordedPass record(one.model(), one.inputs);
  const RecordedPass paired(one.model(), one.paired);
  for (std::size_t k = 0; k < kReplacements.size(); ++k) {
    const HeadChange change(record, kReplacements[k], &paired);
    const std::vector<Screen> screens = screen(record, change, kReadingRoles);
    ASSERT_EQ(screens.size(), kReadingRoles.size());
    for (const Screen& found : screens) {
      const std::vector<double> expected = one.expected("screen", found.role, k);
      ASSERT_EQ(found.values.rows(), one.sizes().layers * one.sizes().heads);
      ASSERT_EQ(found.values.columns(), one.columns(found.role));
      double worst = 0;
      double largest = 0;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        worst = std::max(worst, std::abs(static_cast<double>(found.values.values()[i]) - expected[i]));
        largest = std::max(largest, expected[i]);
      }
      EXPECT_GT(largest, 0.01);
      EXPECT_LT(worst, 1e-5) << "replacement " << k << ", role " << letter(found.role);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ScreenCase, testing::ValuesIn(test::patch_cases()),
                         [](const auto& one) { return one.param; });

// Formats permute rows, split fused matrices and add one to gains; the heads are the same.
TEST(Screen, AgreesBetweenTheFormatsOfAModel) {
  const std::vector<std::pair<std::string, std::string>> formats = {
      {"gguf_gpt2", "gpt2"},      {"gguf_gptneox", "gpt_neox"}, {"gguf_llama", "llama"},
      {"gguf_phi3", "phi3"},      {"gguf_qwen3", "qwen3"},      {"gguf_gemma2", "gemma2_default_scale"},
      {"gguf_bert", "bert_base"},
  };
  for (const auto& [name, other] : formats) {
    const std::vector<ModelInput> inputs = test::golden_inputs(other);
    std::vector<std::vector<Screen>> screens;
    for (const std::string& file : {name, other}) {
      const Model model = Model::open(test::golden_model(file));
      const RecordedPass record(model, inputs);
      screens.push_back(screen(record, HeadChange(record, Replacement::kMean), kReadingRoles));
    }
    for (std::size_t r = 0; r < kReadingRoles.size(); ++r) {
      ASSERT_EQ(screens[0][r].values.values().size(), screens[1][r].values.values().size());
      for (std::size_t i = 0; i < screens[0][r].values.values().size(); ++i) {
        EXPECT_NEAR(screens[0][r].values.values()[i], screens[1][r].values.values()[i], 2e-5) << name << " " << i;
      }
    }
  }
}

TEST(Screen, DoesNotDependOnThreads) {
  for (const std::string name : {"llama", "bert", "whisper"}) {
    const PatchCase one(name);
    const RecordedPass record(one.model(), one.inputs);
    const HeadChange change(record, Replacement::kMean);
    set_thread_count(1);
    const std::vector<Screen> alone = screen(record, change, kReadingRoles);
    for (const std::size_t threads : {2u, 3u, 8u}) {
      set_thread_count(threads);
      const std::vector<Screen> found = screen(record, change, kReadingRoles);
      for (std::size_t r = 0; r < found.size(); ++r) {
        EXPECT_TRUE(std::ranges::equal(found[r].values.values(), alone[r].values.values())) << threads;
      }
    }
    set_thread_count(0);
  }
}

TEST(Screen, ARoleAloneGivesWhatItGivesAmongOthers) {
  const PatchCase one("qwen3");
  const RecordedPass record(one.model(), one.inputs);
  const HeadChange change(record, Replacement::kZero);
  const std::vector<Screen> all = screen(record, change, kReadingRoles);
  for (const Screen& among : all) {
    const std::vector<Screen> alone = screen(record, change, std::vector{among.role});
    ASSERT_EQ(alone.size(), 1u);
    EXPECT_EQ(alone[0].role, among.role);
    ASSERT_EQ(alone[0].values.values().size(), among.values.values().size());
    for (std::size_t i = 0; i < among.values.values().size(); ++i) {
      EXPECT_NEAR(alone[0].values.values()[i], among.values.values()[i], 1e-6);  // BLAS kernels differ in the last bits
    }
  }
  EXPECT_TRUE(screen(record, change, {}).empty());
}

TEST(Screen, IsZeroWhereNothingFlows) {
  for (const std::string name : {"llama", "bart"}) {
    const PatchCase one(name);
    const RecordedPass record(one.model(), one.inputs);
    const HeadChange change(record, Replacement::kMean);
    for (const Screen& found : screen(record, change, kReadingRoles)) {
      for (std::size_t s = 0; s < found.values.rows(); ++s) {
        for (std::size_t t = 0; t < found.values.columns(); ++t) {
          EXPECT_EQ(found.values(s, t) > 0, edge_at(found.role, s, t, one.sizes()).has_value()) << s << " " << t;
        }
      }
    }
  }
}

TEST(Screen, APairOfTheSameInputsChangesNothing) {
  const PatchCase one("gpt_neox");
  const RecordedPass record(one.model(), one.inputs);
  const HeadChange change(record, Replacement::kPair, &record);
  for (const Screen& found : screen(record, change, kReadingRoles)) {
    for (const float value : found.values.values()) EXPECT_NEAR(value, 0, 1e-6);
  }
}

TEST(Screen, RefusesRolesThatWrite) {
  const PatchCase one("gpt2");
  const RecordedPass record(one.model(), one.inputs);
  const HeadChange change(record, Replacement::kMean);
  EXPECT_ERROR(screen(record, change, std::vector{Role::kQ, Role::kO}), ErrorKind::kInvalidArgument, "O writes");
}

}  // namespace
}  // namespace headscope
