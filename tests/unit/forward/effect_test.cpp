#include "headscope/forward/effect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headscope/forward/ablation.h"
#include "support/expect_error.h"
#include "support/random.h"
#include "support/tiny_llama.h"

namespace headscope {
namespace {

using test::some_tokens;
using test::TemporaryFolder;
using test::TinyLlama;

const std::string kSource = HEADSCOPE_SOURCE_DIR;

// 32 random tokens and the same again: what the trained model was trained to continue.
std::vector<ModelInput> repetitions(std::size_t count) {
  std::vector<ModelInput> inputs;
  for (std::size_t i = 0; i < count; ++i) {
    inputs.push_back(some_tokens(32, 64, static_cast<std::uint32_t>(i + 1)));
    std::vector<std::uint32_t>& ids = inputs.back().ids;
    ids.resize(64);
    std::copy_n(ids.begin(), 32, ids.begin() + 32);
  }
  return inputs;
}

std::vector<ModelInput> images(std::size_t count) {
  std::vector<ModelInput> inputs;
  for (std::size_t i = 0; i < count; ++i) inputs.push_back({.pixels = {3, 16, 16, test::normals(3 * 16 * 16, i)}});
  return inputs;
}

TEST(Effect, TheTrainedModelNeedsTheHeadItNeededInPyTorch) {
  const Model model = Model::open(kSource + "/models/induction");
  std::ifstream file(kSource + "/models/induction/behavior.json");
  const auto measured = nlohmann::json::parse(file)["heads"];
  const auto worst = std::ranges::max_element(
      measured, {}, [](const auto& head) { return head["loss_increase"].template get<double>(); });
  const HeadId expected{(*worst)["layer"].get<std::size_t>(), (*worst)["head"].get<std::size_t>()};
  const std::vector<ModelInput> inputs = repetitions(4);
  const EffectMeter meter(model, inputs);
  ASSERT_TRUE(meter.before().loss);
  EXPECT_EQ(meter.before().answers, 4 * 63u);
  double most = 0;
  HeadId found;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const HeadId id{i / 8, i % 8};
    const Effect effect = meter.measure(zero_ablation(model, std::vector{id}));
    const double increase = *effect.after.loss - *effect.before.loss;
    if (increase <= most) continue;
    most = increase;
    found = id;
  }
  EXPECT_EQ(found, expected);
  EXPECT_GT(most, 0.5);
}

TEST(Effect, OfNothingIsNothing) {
  const Model model = Model::open(kSource + "/models/induction");
  const std::vector<ModelInput> inputs = repetitions(2);
  const EffectMeter meter(model, inputs);
  const Effect effect = meter.measure({});
  EXPECT_EQ(effect.kl, 0);
  EXPECT_EQ(effect.agreement, 1);
  EXPECT_EQ(effect.change, 0);
  EXPECT_EQ(effect.before.loss, effect.after.loss);
  EXPECT_EQ(effect.before.accuracy, effect.after.accuracy);
}

// Loss and KL from the outputs themselves, in double.
TEST(Effect, IsWhatItsFormulasSay) {
  const TemporaryFolder folder;
  TinyLlama().write(folder);
  const Model model = Model::open(folder.path());
  const std::vector<ModelInput> inputs = {some_tokens(9, 13), some_tokens(5, 13, 2)};
  const auto removed = zero_ablation(model, std::vector<HeadId>{{0, 1}, {1, 2}});
  const auto log_probabilities = [&](const std::vector<HeadReplacement>& replacements) {
    std::vector<std::vector<double>> rows;
    ForwardOptions options;
    options.replacements = replacements;
    options.on_output = [&](const OutputRows& out) {
      for (std::size_t i = 0; i < out.values.rows(); ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < 13; ++j) sum += std::exp(static_cast<double>(out.values(i, j)));
        rows.emplace_back();
        for (std::size_t j = 0; j < 13; ++j)
          rows.back().push_back(static_cast<double>(out.values(i, j)) - std::log(sum));
      }
    };
    run_forward(model, inputs, options);
    return rows;
  };
  const auto p = log_probabilities({});
  const auto q = log_probabilities(removed);
  ASSERT_EQ(p.size(), 14u);
  double kl = 0, before = 0, after = 0;
  for (std::size_t t = 0; t < 14; ++t) {
    for (std::size_t j = 0; j < 13; ++j) kl += std::exp(p[t][j]) * (p[t][j] - q[t][j]) / 14;
    const bool first = t < 9;
    const std::size_t next = first ? t + 1 : t - 9 + 1;
    const std::vector<std::uint32_t>& ids = inputs[first ? 0 : 1].ids;
    if (next >= ids.size()) continue;
    before -= p[t][ids[next]] / 12;
    after -= q[t][ids[next]] / 12;
  }
  const Effect effect = EffectMeter(model, inputs).measure(removed);
  EXPECT_NEAR(*effect.kl, kl, 1e-5);
  EXPECT_NEAR(*effect.before.loss, before, 1e-5);
  EXPECT_NEAR(*effect.after.loss, after, 1e-5);
  EXPECT_EQ(effect.after.answers, 12u);
  EXPECT_GT(effect.change, 0);
}

TEST(Effect, AMeanIsTheMeanOfWhatTheHeadWrites) {
  const TemporaryFolder folder;
  TinyLlama().write(folder);
  const Model model = Model::open(folder.path());
  const std::vector<ModelInput> inputs = {some_tokens(30, 13), some_tokens(10, 13, 2)};
  const std::vector<HeadId> heads = {{1, 2}, {0, 3}};
  const auto means = mean_ablation(model, heads, inputs);
  std::vector<double> expected(4);
  ForwardOptions options;
  options.on_heads = [&](const HeadOutputs& out) {
    for (std::size_t t = 0; out.layer == 1 && t < out.values.rows(); ++t) {
      for (std::size_t j = 0; j < 4; ++j) expected[j] += static_cast<double>(out.values(t, 2 * 4 + j)) / 40;
    }
  };
  run_forward(model, inputs, options);
  ASSERT_EQ(means.size(), 2u);
  EXPECT_EQ(means[0].layer, 1u);
  EXPECT_EQ(means[1].head, 3u);
  for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(means[0].value[j], expected[j], 1e-6);
  const EffectMeter meter(model, inputs);
  EXPECT_NE(*meter.measure(means).kl, *meter.measure(zero_ablation(model, heads)).kl);
  EXPECT_TRUE(mean_ablation(model, {}, inputs).empty());
  EXPECT_ERROR(mean_ablation(model, heads, {}), ErrorKind::kInvalidArgument, "at least one");
}

TEST(Effect, OfAModelWithoutAHeadIsTheChangeAlone) {
  const Model model = Model::open(kSource + "/tests/golden/forward/vit_base");
  const std::vector<ModelInput> inputs = images(2);
  const EffectMeter meter(model, inputs);
  const Effect effect = meter.measure(zero_ablation(model, std::vector<HeadId>{{0, 0}}));
  EXPECT_FALSE(effect.kl || effect.agreement || effect.before.loss || effect.after.accuracy);
  EXPECT_GT(effect.change, 1e-3);
  EXPECT_EQ(meter.measure({}).change, 0);
}

TEST(Effect, OfAClassifierCountsLabels) {
  const Model model = Model::open(kSource + "/tests/golden/forward/vit");
  const std::vector<ModelInput> inputs = images(3);
  EXPECT_FALSE(EffectMeter(model, inputs).before().loss);
  std::vector<std::size_t> likeliest;
  ForwardOptions options;
  options.on_output = [&](const OutputRows& out) {
    std::size_t best = 0;
    for (std::size_t j = 1; j < out.values.columns(); ++j) best = out.values(0, j) > out.values(0, best) ? j : best;
    likeliest.push_back(best);
  };
  run_forward(model, inputs, options);
  EXPECT_EQ(EffectMeter(model, inputs, likeliest).before().accuracy, 1);
  EXPECT_EQ(EffectMeter(model, inputs, likeliest).before().answers, 3u);
  const std::vector<std::size_t> other = {(likeliest[0] + 1) % 5, likeliest[1], (likeliest[2] + 1) % 5};
  EXPECT_NEAR(*EffectMeter(model, inputs, other).before().accuracy, 1.0 / 3, 1e-12);
  EXPECT_GT(EffectMeter(model, inputs, other).before().loss, EffectMeter(model, inputs, likeliest).before().loss);
  EXPECT_ERROR(EffectMeter(model, inputs, std::vector<std::size_t>{5, 0, 0}), ErrorKind::kInvalidArgument,
               "input 0 has label 5, but the model has 5 classes");
  EXPECT_ERROR(EffectMeter(model, inputs, std::vector<std::size_t>{0}), ErrorKind::kInvalidArgument,
               "1 labels for 3 inputs");
}

TEST(Effect, RefusesWhatItCannotMeasure) {
  const Model model = Model::open(kSource + "/models/induction");
  const std::vector<ModelInput> inputs = repetitions(4);
  EXPECT_ERROR(EffectMeter(model, {}), ErrorKind::kInvalidArgument, "no inputs");
  const std::vector<std::size_t> labels(4);
  EXPECT_ERROR(EffectMeter(model, inputs, labels), ErrorKind::kInvalidArgument, "of a model that does not classify");
  EXPECT_ERROR(zero_ablation(model, std::vector<HeadId>{{2, 0}}), ErrorKind::kInvalidArgument,
               "L2H0 is not a query head of the model, which has 2 layers of 8");
  EXPECT_ERROR(zero_ablation(model, std::vector<HeadId>{{0, 1, true}}), ErrorKind::kInvalidArgument,
               "not a query head");
}

}  // namespace
}  // namespace headscope
