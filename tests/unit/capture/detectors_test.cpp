#include "headscope/capture/detectors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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
    for (const DetectorScores& scores : {head.scores, head.spread, head.second, head.second_spread}) {
      for (const auto& score : scores) all.back().push_back(score.value_or(-1));
    }
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
      const bool applies = kDetectors[d] != Detector::kNext && kDetectors[d] != Detector::kFirst;
      ASSERT_EQ(result.heads[i].scores[d].has_value(), applies);
      if (!applies) continue;
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
    for (std::size_t d = 0; d < 4; ++d) {
      EXPECT_NEAR(*result.chance[0].scores[d], mean(d == 0 ? 1 : d == 1 ? 0 : 4), 1e-12);
      EXPECT_LT(*result.second_chance[0].scores[d], *result.chance[0].scores[d]);
    }
    EXPECT_EQ(result.second_length, 16U);
    for (const HeadScores& head : result.heads) {
      for (std::size_t d = 0; d < 4; ++d) {
        EXPECT_NEAR(*head.second[d], *result.second_chance[0].scores[d], 1e-6);
        EXPECT_NEAR(*head.spread[d], 0, 1e-6);
        EXPECT_NEAR(*head.second_spread[d], 0, 1e-6);
      }
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

// The spread is the deviation over sequences of what each sequence alone gives.
TEST(Detectors, SpreadIsTheDeviationOverSequences) {
  TinyLlama tiny;
  const TemporaryFolder folder;
  tiny.write(folder);
  const Model model = Model::open(folder.path());
  DetectOptions options;
  options.length = 8;
  options.second_length = 0;
  // Sequence i of seed 0 does not depend on the number of sequences, so sums of prefixes give every single one.
  std::vector<DetectResult> prefixes;
  for (options.sequences = 1; options.sequences <= 5; ++options.sequences) prefixes.push_back(detect(model, options));
  EXPECT_FALSE(prefixes.front().heads[0].spread[0]);
  EXPECT_EQ(prefixes.front().second_length, 0U);
  EXPECT_FALSE(prefixes.front().heads[0].second[0]);
  for (std::size_t head = 0; head < prefixes[0].heads.size(); ++head) {
    for (std::size_t d = 0; d < 4; ++d) {
      const auto mean = [&](std::size_t count) { return *prefixes[count - 1].heads[head].scores[d]; };
      double squares = 0;
      for (std::size_t i = 1; i <= 5; ++i) {
        const double before = i > 1 ? mean(i - 1) * static_cast<double>(i - 1) : 0;
        squares += std::pow(mean(i) * static_cast<double>(i) - before - mean(5), 2);
      }
      // Scores are float32 products, whose kernel depends on the number of rows: 4e-8 on a processor with AVX-512.
      EXPECT_NEAR(*prefixes[4].heads[head].spread[d], std::sqrt(squares / 4), 1e-6);
    }
  }
}

// The scores of the second length are those of a run with that length, up to the choice of sequences.
TEST(Detectors, ScoreASecondLength) {
  const Model model = Model::open(kSource + "/models/induction");
  DetectOptions options;
  const DetectResult both = detect(model, options);
  EXPECT_EQ(both.length, 64U);
  EXPECT_EQ(both.second_length, 32U);  // the model has 64 positions: half instead of twice
  EXPECT_EQ(both.second_sequences, 64U);
  options.length = 32;
  options.second_length = 64;
  options.sequences = 64;
  const DetectResult swapped = detect(model, options);
  EXPECT_EQ(swapped.second_length, 64U);
  EXPECT_EQ(swapped.second_sequences, 32U);
  for (std::size_t i = 0; i < both.heads.size(); ++i) {
    for (std::size_t d = 0; d < 4; ++d) {
      EXPECT_NEAR(*both.heads[i].scores[d], *swapped.heads[i].second[d], 0.05);
      EXPECT_NEAR(*both.heads[i].second[d], *swapped.heads[i].scores[d], 0.05);
    }
  }
  options.second_length = 7;
  EXPECT_ERROR(detect(model, options), ErrorKind::kInvalidArgument, "sequences of 7 tokens, expected an even number");
}

TEST(Detectors, AHeadIsDetectedOnlyAtAllLengths) {
  HeadScores head;
  const auto at = [&](std::optional<double> first, std::optional<double> second) {
    head.scores[3] = first;
    head.second[3] = second;
    return is_detected(head, Detector::kInduction, 0.4);
  };
  EXPECT_EQ(at(0.4, 0.5), Detected::kYes);
  EXPECT_EQ(at(0.4, 0.39), Detected::kAtOneLength);
  EXPECT_EQ(at(0.3, 0.5), Detected::kAtOneLength);
  EXPECT_EQ(at(0.3, 0.1), Detected::kNo);
  EXPECT_EQ(at(0.5, std::nullopt), Detected::kYes);
  EXPECT_EQ(at(std::nullopt, std::nullopt), Detected::kNo);
  DetectResult result;
  result.second_length = 32;
  at(0.5, 0.3);
  result.heads = {head};
  EXPECT_EQ(labels_from(result, 0.4, "x").find("L0H0"), std::string::npos);
  at(0.5, 0.4);
  result.heads = {head};
  EXPECT_NE(labels_from(result, 0.4, "x").find("L0H0"), std::string::npos);
}

TEST(Detectors, OfImagesAreIdentityAlone) {
  DetectOptions options;
  options.sequences = 2;
  const DetectResult result = detect(Model::open(kSource + "/tests/golden/forward/vit"), options);
  EXPECT_EQ(result.length, 17u);
  EXPECT_EQ(result.second_length, 0u);
  EXPECT_DOUBLE_EQ(result.chance[0].scores[1].value(), 1.0 / 17);
  EXPECT_FALSE(result.chance[0].scores[0]);
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
    EXPECT_ERROR(detect(Model::open(folder.path())), ErrorKind::kResource, "use a larger --memory");
  }
}

}  // namespace
}  // namespace headscope
