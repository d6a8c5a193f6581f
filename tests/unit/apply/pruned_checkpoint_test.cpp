// Pruned checkpoints of every family, read again and run: they must compute what the original computes with the same
// heads replaced by nothing. One case is compared with transformers; tests/golden/make_pruned.py makes it.

#include "headscope/apply/pruned_checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "headscope/forward/ablation.h"
#include "headscope/io/mapped_file.h"
#include "headscope/io/npz.h"
#include "support/expect_error.h"
#include "support/golden_inputs.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = HEADSCOPE_SOURCE_DIR;

// Writes the pruned model and says where it is.
fs::path write_pruned(const Model& model, const std::vector<HeadId>& heads, const test::TemporaryFolder& folder) {
  RunFolder run(folder.path(), {"prune", {}, {}, {}}, false);
  add_pruned_checkpoint(run, model, heads);
  run.commit();
  const fs::path pruned = folder.path() / "pruned";
  return model.checkpoint().is_gguf() ? pruned / model.checkpoint().path().filename() : pruned;
}

// The first head of the first layer, and every other one of the last.
std::vector<HeadId> some_heads(const HeadSizes& sizes) {
  std::vector<HeadId> heads = {{0, 0}};
  for (std::size_t head = 1; head < sizes.heads; head += 2) heads.push_back({sizes.layers - 1, head});
  return heads;
}

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(test::kForwardCases))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

class PrunedCase : public testing::TestWithParam<std::string> {};

TEST_P(PrunedCase, ComputesWhatTheOriginalDoesWithTheHeadsReplacedByNothing) {
  const Model model = Model::open(test::golden_model(GetParam()));
  const std::vector<ModelInput> inputs = test::golden_inputs(GetParam());
  const std::vector<HeadId> heads = some_heads(model.info().sizes);
  const test::TemporaryFolder folder;
  const Model pruned = Model::open(write_pruned(model, heads, folder));

  EXPECT_EQ(zero_heads(pruned), heads);
  const std::vector<float> masked = test::run_output(model, inputs, zero_ablation(model, heads));
  EXPECT_EQ(test::run_output(pruned, inputs), masked);
  EXPECT_NE(test::run_output(model, inputs), masked);
}

INSTANTIATE_TEST_SUITE_P(All, PrunedCase, testing::ValuesIn(cases()), [](const auto& one) { return one.param; });

TEST(PrunedCheckpoint, KeepsEveryByteButThoseOfTheHeads) {
  const Model model = Model::open(kRoot / "tests/golden/checkpoints/llama_sharded");
  const std::vector<HeadId> heads = {{0, 1}, {1, 3}, {1, 2}, {1, 3}};
  const test::TemporaryFolder folder;
  const Model pruned = Model::open(write_pruned(model, heads, folder));

  const auto before = model.checkpoint().weight_files();
  const auto after = pruned.checkpoint().weight_files();
  ASSERT_EQ(after.size(), 4u);
  std::size_t changed = 0;
  for (std::size_t f = 0; f < before.size(); ++f) {
    EXPECT_EQ(after[f].path.filename(), before[f].path.filename());
    ASSERT_EQ(after[f].bytes.size(), before[f].bytes.size());
    for (std::size_t i = 0; i < before[f].bytes.size(); ++i) {
      if (after[f].bytes[i] == before[f].bytes[i]) continue;
      EXPECT_EQ(after[f].bytes[i], std::byte{0});
      ++changed;
    }
  }
  const HeadSizes& sizes = model.info().sizes;
  EXPECT_LE(changed, 3 * sizes.d_model * sizes.d_head * sizeof(float));
  EXPECT_GT(changed, 2 * sizes.d_model * sizes.d_head * sizeof(float));
  for (const char* name : {"config.json", "model.safetensors.index.json"}) {
    EXPECT_TRUE(std::ranges::equal(MappedFile::open(model.checkpoint().path() / name).bytes(),
                                   MappedFile::open(folder.path() / "pruned" / name).bytes()))
        << name;
  }
  EXPECT_FALSE(fs::exists(folder.path() / "pruned/expected.npz"));
}

TEST(PrunedCheckpoint, GivesTheLogitsThatTransformersGivesForIt) {
  const Model model = Model::open(test::golden_model("llama"));
  const NpzFile expected = NpzFile::open(kRoot / "tests/golden/pruned/llama.npz");
  std::vector<HeadId> heads;
  const auto removed = npy_values<std::int64_t>(expected.find("removed")->view(), "removed");
  for (std::size_t i = 0; i < removed.size(); i += 2) {
    heads.push_back({static_cast<std::size_t>(removed[i]), static_cast<std::size_t>(removed[i + 1])});
  }
  const test::TemporaryFolder folder;
  const Model pruned = Model::open(write_pruned(model, heads, folder));
  const std::vector<float> logits = npy_values<float>(expected.find("logits")->view(), "logits");
  const std::vector<float> ours = test::run_output(pruned, test::golden_inputs("llama"));
  ASSERT_EQ(ours.size(), logits.size());
  double size = 0;
  double gap = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    size = std::max(size, std::abs(static_cast<double>(logits[i])));
    gap = std::max(gap, std::abs(static_cast<double>(logits[i]) - static_cast<double>(ours[i])));
  }
  EXPECT_LT(gap, 1e-5 * size);
}

TEST(PrunedCheckpoint, RefusesBlocksThatReachOverSeveralHeads) {
  const Model model = Model::open(kRoot / "tests/golden/checkpoints/gguf_llama_q8/model.gguf");
  ASSERT_EQ(model.stored_type(0, Role::kO), DType::kQ8_0);
  const test::TemporaryFolder folder;
  EXPECT_ERROR(write_pruned(model, {{0, 0}}, folder), ErrorKind::kUnsupported, "Q8_0 in blocks of 32");
  EXPECT_FALSE(fs::exists(folder.path() / "pruned"));
}

TEST(PrunedCheckpoint, RefusesHeadsThatAreNotThere) {
  const Model model = Model::open(test::golden_model("llama"));
  const test::TemporaryFolder folder;
  EXPECT_ERROR(write_pruned(model, {{2, 0}}, folder), ErrorKind::kInvalidArgument, "L2H0 is not a query head");
  EXPECT_ERROR(write_pruned(model, {{0, 1, true}}, folder), ErrorKind::kInvalidArgument, "L0KV1");
}

}  // namespace
}  // namespace headscope
