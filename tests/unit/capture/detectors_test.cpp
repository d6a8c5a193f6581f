#include "headscope/capture/detectors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headscope/base/parallel.h"
#include "support/expect_error.h"
#include "support/tiny_llama.h"

namespace headscope {
namespace {

using test::TemporaryFolder;
using test::TinyLlama;

const std::string kSource = HEADSCOPE_SOURCE_DIR;

std::vector<std::vector<double>> all_scores(const DetectResult& result) {
  std::vector<std::vector<double>> all;
  for (const HeadScores& head : result.heads) {
    all.emplace_back();
    for (const auto& score : head.scores) all.back().push_back(score.value_or(-1));
  }
  return all;
}

// The scores of the file were measured in PyTorch on 500 other sequences when the model was trained.
TEST(Detectors, FindWhatPyTorchMeasuredInTheTrainedModel) {
  const Model model = Model::open(kSource + "/models/induction");
  DetectOptions options;
  options.sequences = 100;
  const DetectResult result = detect(model, options);
  EXPECT_EQ(result.length, 64u);
  EXPECT_FALSE(result.bos);
  std::ifstream file(kSource + "/models/induction/behavior.json");
  const auto measured = nlohmann::json::parse(file)["heads"];
  ASSERT_EQ(result.heads.size(), measured.size());
  for (std::size_t i = 0; i < measured.size(); ++i) {
    EXPECT_EQ(result.heads[i].head.layer, measured[i]["layer"]);
    EXPECT_EQ(result.heads[i].head.head, measured[i]["head"]);
    for (std::size_t d = 0; d < kDetectors.size(); ++d) {
      const double expected = measured[i][std::string(to_string(kDetectors[d]))];
      EXPECT_NEAR(*result.heads[i].scores[d], expected, 0.03) << i << " " << to_string(kDetectors[d]);
    }
  }
  const auto best = [&](Detector detector) {
    const auto key = [&](const HeadScores& head) { return *head.scores[static_cast<std::size_t>(detector)]; };
    return to_string(std::ranges::max(result.heads, {}, key).head);
  };
  EXPECT_EQ(best(Detector::kPrevious), "L0H6");
  EXPECT_EQ(best(Detector::kInduction), "L1H0");
}

TEST(Detectors, GiveTheSameScoresForAnyNumberOfThreads) {
  const Model model = Model::open(kSource + "/models/induction");
  DetectOptions options;
  options.sequences = 70;  // more than one group
  std::vector<double> shares;
  Context context;
  context.on_progress = [&](std::string_view, double share) { shares.push_back(share); };
  set_thread_count(1);
  const auto one = all_scores(detect(model, options, context));
  EXPECT_TRUE(std::ranges::is_sorted(shares));
  EXPECT_EQ(shares.back(), 1);
  set_thread_count(3);
  EXPECT_EQ(all_scores(detect(model, options)), one);
  set_thread_count(0);
  options.seed = 1;
  EXPECT_NE(all_scores(detect(model, options)), one);
}

// Queries and keys that are zero: every token looks at all before it alike, and the scores are known.
TEST(Detectors, OfEvenAttentionAreWhatCountingGives) {
  TinyLlama tiny;
  for (auto& [name, values] : tiny.values) {
    if (name.find("q_proj") != std::string::npos) std::ranges::fill(values, 0.0F);
  }
  const TemporaryFolder folder;
  tiny.write(folder);
  const Model model = Model::open(folder.path());
  DetectOptions options;
  options.sequences = 3;
  options.length = 8;
  for (const bool with_bos : {true, false}) {
    options.without_bos = !with_bos;
    const DetectResult result = detect(model, options);
    EXPECT_EQ(result.bos.has_value(), with_bos);
    const std::size_t skip = with_bos ? 1 : 0;
    // Tokens in sight of query t are t + 1, and the BOS before them.
    const auto mean = [&](std::size_t first) {
      double sum = 0;
      for (std::size_t t = first; t < 8; ++t) sum += 1 / static_cast<double>(t + 1 + skip);
      return sum / static_cast<double>(8 - first);
    };
    for (const HeadScores& head : result.heads) {
      EXPECT_NEAR(*head.scores[0], mean(1), 1e-6);
      EXPECT_NEAR(*head.scores[1], mean(0), 1e-6);
      EXPECT_NEAR(*head.scores[2], mean(4), 1e-6);
      EXPECT_NEAR(*head.scores[3], mean(4), 1e-6);
    }
  }
}

TEST(Detectors, ShortenSequencesToTheModelsPositions) {
  DetectOptions options;
  options.sequences = 1;
  options.length = 1000;
  EXPECT_EQ(detect(Model::open(kSource + "/models/induction"), options).length, 64u);
  const Model gpt2 = Model::open(kSource + "/tests/golden/forward/gpt2");
  options.bos = 3;
  const DetectResult result = detect(gpt2, options);
  EXPECT_EQ(result.bos, 3u);
  EXPECT_EQ(result.length % 2, 0u);
}

TEST(Detectors, OfImagesAreIdentityAlone) {
  DetectOptions options;
  options.sequences = 2;
  const DetectResult result = detect(Model::open(kSource + "/tests/golden/forward/vit"), options);
  EXPECT_EQ(result.length, 17u);
  for (const HeadScores& head : result.heads) {
    EXPECT_FALSE(head.scores[0] || head.scores[2] || head.scores[3]);
    ASSERT_TRUE(head.scores[1]);
    EXPECT_GT(*head.scores[1], 0);
    EXPECT_LT(*head.scores[1], 1);
  }
}

TEST(Detectors, RefuseLengthsAndImagesThatMakeNoSense) {
  const Model model = Model::open(kSource + "/models/induction");
  DetectOptions options;
  for (const std::size_t length : {0u, 2u, 7u}) {
    options.length = length;
    EXPECT_ERROR(detect(model, options), ErrorKind::kInvalidArgument, "expected an even number from 4 to 64");
  }
  options.length = 8;
  options.sequences = 0;
  EXPECT_ERROR(detect(model, options), ErrorKind::kInvalidArgument, "0 sequences, expected at least 1");

  const TemporaryFolder folder;
  std::filesystem::copy_file(kSource + "/tests/golden/forward/dinov2/model.safetensors",
                             folder.path() / "model.safetensors");
  for (const char* size : {"999999999", "[4000000000, 4000000000]"}) {
    folder.write("config.json", std::string(R"({"model_type": "dinov2", "hidden_size": 32, "num_hidden_layers": 2,
      "num_attention_heads": 2, "mlp_ratio": 1, "patch_size": 4, "image_size": )") +
                                    size + "}");
    EXPECT_ERROR(detect(Model::open(folder.path())), ErrorKind::kResource, "more than a quarter of the budget");
  }
}

}  // namespace
}  // namespace headscope
