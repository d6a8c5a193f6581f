// Pruned checkpoints of every family, read again and run: they must compute what the original computes with the same
// heads replaced by nothing. One case is compared with transformers; tests/golden/make_pruned.py makes it.

#include "headscope/apply/pruned_checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "headscope/apply/output_bias.h"
#include "headscope/forward/ablation.h"
#include "headscope/io/mapped_file.h"
#include "headscope/io/npz.h"
#include "headscope/model/network.h"
#include "support/expect_error.h"
#include "support/golden_inputs.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = HEADSCOPE_SOURCE_DIR;

// Writes the pruned model and says where it is.
fs::path write_pruned(const Model& model, const std::vector<HeadReplacement>& heads,
                      const test::TemporaryFolder& folder) {
  RunFolder run(folder.path(), {"prune", {}, {}, {}}, false);
  add_pruned_checkpoint(run, model, heads);
  run.commit();
  const fs::path pruned = folder.path() / "pruned";
  return model.checkpoint().is_gguf() ? pruned / model.checkpoint().path().filename() : pruned;
}

fs::path write_pruned(const Model& model, const std::vector<HeadId>& heads, const test::TemporaryFolder& folder) {
  return write_pruned(model, zero_ablation(model, heads), folder);
}

// Largest difference, relative to the largest value.
double gap(const std::vector<float>& ours, const std::vector<float>& expected) {
  EXPECT_EQ(ours.size(), expected.size());
  double size = 0;
  double most = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    size = std::max(size, std::abs(static_cast<double>(expected[i])));
    most = std::max(most, std::abs(static_cast<double>(expected[i]) - static_cast<double>(ours[i])));
  }
  return most / size;
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

TEST_P(PrunedCase, ComputesWhatTheOriginalDoesWithTheHeadsReplacedByTheirMeans) {
  const Model model = Model::open(test::golden_model(GetParam()));
  const std::vector<ModelInput> inputs = test::golden_inputs(GetParam());
  const std::vector<HeadReplacement> means = mean_ablation(model, some_heads(model.info().sizes), inputs);
  const test::TemporaryFolder folder;
  const OutputBias bias = find_output_bias(model);
  if (bias.kind == BiasKind::kNone) {
    EXPECT_ERROR(write_pruned(model, means, folder), ErrorKind::kUnsupported, bias.why_not);
    return;
  }
  const Model pruned = Model::open(write_pruned(model, means, folder));
  EXPECT_EQ(zero_heads(pruned), some_heads(model.info().sizes));
  EXPECT_EQ(find_output_bias(pruned).kind, BiasKind::kStored);
  const DType stored = resolve_network(pruned).layers[0].linear[3].bias->dtype;  // the bias is rounded to it
  EXPECT_LT(gap(test::run_output(pruned, inputs), test::run_output(model, inputs, means)),
            stored == DType::kF32 ? 1e-5 : 5e-3);
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

// An index and four files: the biases are beside their weights, and the index names them.
TEST(PrunedCheckpoint, AddsBiasesToTheFilesOfTheirWeights) {
  const Model model = Model::open(kRoot / "tests/golden/checkpoints/llama_sharded");
  const HeadSizes& sizes = model.info().sizes;
  const std::vector<HeadReplacement> heads = {{1, 2, std::vector<float>(sizes.d_head, 1)}};
  const test::TemporaryFolder folder;
  const Model pruned = Model::open(write_pruned(model, heads, folder));
  EXPECT_EQ(pruned.checkpoint().weight_files().size(), 4u);
  EXPECT_EQ(pruned.checkpoint().tensors().size(), model.checkpoint().tensors().size() + 4 * sizes.layers);
  EXPECT_EQ(pruned.checkpoint().config().find("attention_bias").as_bool(), true);
  EXPECT_EQ(pruned.info().biases, (std::array<bool, 4>{true, true, true, true}));
  for (const StoredTensor* tensor : model.checkpoint().tensors()) {
    const StoredTensor* copy = pruned.checkpoint().find(tensor->name);
    ASSERT_NE(copy, nullptr);
    EXPECT_EQ(std::ranges::equal(copy->bytes, tensor->bytes),
              !tensor->name.ends_with("layers.1.self_attn.o_proj.weight"))
        << tensor->name;
  }
}

TEST(PrunedCheckpoint, RoundsTheBiasToItsType) {
  const Model model = Model::open(test::golden_model("gpt2"));  // float16
  const std::vector<HeadReplacement> heads = {{0, 1, std::vector<float>(model.info().sizes.d_head, 0.25F)}};
  const test::TemporaryFolder folder;
  const Model pruned = Model::open(write_pruned(model, heads, folder));
  const std::vector<float> exact = biases_with(model, heads)[0];
  const std::vector<float> stored = biases_with(pruned, {})[0];
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(stored[i], exact[i], std::abs(exact[i]) / 2048 + 1e-7F);
}

// Zeros and means; the biases of GPT-2 are its own, those of LLaMA are added. tests/golden/make_pruned.py
TEST(PrunedCheckpoint, GivesTheLogitsThatTransformersGivesForIt) {
  for (const std::string name : {"llama", "llama_mean", "gpt2_mean", "bert_mean"}) {
    const std::string source = name.substr(0, name.find('_'));
    const Model model = Model::open(test::golden_model(source));
    const std::vector<ModelInput> inputs = test::golden_inputs(source);
    const NpzFile expected = NpzFile::open(kRoot / "tests/golden/pruned" / (name + ".npz"));
    std::vector<HeadId> heads;
    const auto removed = npy_values<std::int64_t>(expected.find("removed")->view(), "removed");
    for (std::size_t i = 0; i < removed.size(); i += 2) {
      heads.push_back({static_cast<std::size_t>(removed[i]), static_cast<std::size_t>(removed[i + 1])});
    }
    const test::TemporaryFolder folder;
    const Model pruned = Model::open(write_pruned(
        model, name == source ? zero_ablation(model, heads) : mean_ablation(model, heads, inputs), folder));
    const std::vector<float> logits = npy_values<float>(expected.find("logits")->view(), "logits");
    EXPECT_LT(gap(test::run_output(pruned, inputs), logits), 1e-5) << name;
  }
}

TEST(PrunedCheckpoint, RefusesBlocksThatReachOverSeveralHeads) {
  const Model model = Model::open(kRoot / "tests/golden/checkpoints/gguf_llama_q8/model.gguf");
  ASSERT_EQ(model.stored_type(0, Role::kO), DType::kQ8_0);
  const test::TemporaryFolder folder;
  EXPECT_ERROR(write_pruned(model, std::vector<HeadId>{{0, 0}}, folder), ErrorKind::kUnsupported,
               "Q8_0 in blocks of 32");
  EXPECT_FALSE(fs::exists(folder.path() / "pruned"));
}

TEST(PrunedCheckpoint, RefusesHeadsThatAreNotThere) {
  const Model model = Model::open(test::golden_model("llama"));
  const test::TemporaryFolder folder;
  const std::vector<HeadReplacement> none = {{2, 0, std::vector<float>(model.info().sizes.d_head)}};
  EXPECT_ERROR(write_pruned(model, none, folder), ErrorKind::kInvalidArgument, "is not a query head");
  const std::vector<HeadReplacement> narrow = {{0, 0, {1}}};
  EXPECT_ERROR(write_pruned(model, narrow, folder), ErrorKind::kInvalidArgument, "L0H0 of width 1");
}

}  // namespace
}  // namespace headscope
