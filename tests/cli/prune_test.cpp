#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headscope/io/npy.h"
#include "support/golden_inputs.h"
#include "support/read.h"
#include "support/run_program.h"
#include "support/temporary_folder.h"

namespace headscope::cli {
namespace {

namespace fs = std::filesystem;
using test::expect_failure;
using test::Outcome;
using test::read;
using test::run_program;
using test::TemporaryFolder;
using testing::HasSubstr;

const std::string kInduction = std::string(HEADSCOPE_SOURCE_DIR) + "/models/induction";

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// 16 tokens, twice, differently for every input.
std::string write_ids(const TemporaryFolder& folder, std::size_t inputs = 2) {
  std::vector<std::int64_t> ids;
  for (std::size_t k = 0; k < inputs; ++k) {
    for (std::size_t i = 0; i < 32; ++i) ids.push_back(static_cast<std::int64_t>((i % 16 * 5 + 7 * k) % 64));
  }
  const fs::path path = folder.path() / "ids.npy";
  write_npy<std::int64_t>(path, ids, Shape{inputs, 32});
  return path.string();
}

TEST(PruneCommand, WritesTablesAndAModelThatCanBePrunedAgain) {
  const TemporaryFolder folder;
  const std::string ids = write_ids(folder);
  const fs::path run = folder.path() / "run";
  const Outcome outcome =
      run_program({"prune", kInduction, "-o", run.string(), "--ids", ids, "--seeds", "3", "--orders", "5"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("8 of 16 heads removed"));
  EXPECT_THAT(outcome.out, HasSubstr("\n  variation "));
  EXPECT_THAT(outcome.out, HasSubstr("A removed head writes its mean over the inputs used to choose.\n"));
  EXPECT_THAT(read(run / "curve.csv"), testing::StartsWith("criterion,seed,removed,loss,accuracy,kl,agreement"));
  EXPECT_EQ(lines(read(run / "curve.csv")), 1 + 5 * 9u);  // two criteria and three seeds; 0, 1, ..., 8 heads
  EXPECT_EQ(lines(read(run / "ranking.csv")), 1 + 5 * 16u);
  const auto manifest = nlohmann::json::parse(read(run / "manifest.json"));
  for (const char* name : {"ranking.csv", "curve.csv", "orders.csv", "prune.json", "pruned.json", "pruned/config.json",
                           "pruned/model.safetensors"}) {
    EXPECT_TRUE(fs::exists(run / name)) << name;
    EXPECT_TRUE(manifest["files"].contains(name)) << name;
  }
  EXPECT_EQ(read(run / "pruned/config.json"), read(kInduction + "/config.json"));
  EXPECT_FALSE(fs::exists(run / "pruned/README.md"));
  const auto pruned = nlohmann::json::parse(read(run / "pruned.json"));
  EXPECT_EQ(pruned["removed"].size(), 8u);

  const Outcome again = run_program({"prune", (run / "pruned").string(), "-o", (folder.path() / "again").string(),
                                     "--ids", ids, "--criteria", "norm", "--fraction", "0.75", "--json"});
  ASSERT_EQ(again.code, 0) << again.err;
  const auto json = nlohmann::json::parse(again.out);
  EXPECT_EQ(json["zero_already"], pruned["removed"]);
  EXPECT_EQ(json["removed"], 12);
  EXPECT_NEAR(json["before"]["loss"].get<double>(), pruned["after"]["loss"].get<double>(), 1e-5);
}

// LLaMA gets biases, Mistral cannot have any, and zeros change neither.
TEST(PruneCommand, ReplacesHeadsByTheirMeansOrByZeros) {
  const TemporaryFolder folder;
  const std::string ids = write_ids(folder);
  const auto words = [&](const std::string& model, std::vector<std::string> more) {
    std::vector<std::string> all = {"prune",      test::golden_model(model).string(),
                                    "-o",         (folder.path() / model).string(),
                                    "--ids",      ids,
                                    "--count",    "3",
                                    "--points",   "1",
                                    "--criteria", "energy",
                                    "--force"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const auto config = [&](const std::string& model) {
    return nlohmann::json::parse(read(folder.path() / model / "pruned/config.json"));
  };
  const Outcome mean = run_program(words("llama", {}));
  ASSERT_EQ(mean.code, 0) << mean.err;
  EXPECT_TRUE(config("llama")["attention_bias"]);
  const double loss = nlohmann::json::parse(read(folder.path() / "llama/pruned.json"))["after"]["loss"];
  const Outcome zero = run_program(words("llama", {"--replace", "zero", "--json"}));
  ASSERT_EQ(zero.code, 0) << zero.err;
  const auto summary = nlohmann::json::parse(zero.out);
  EXPECT_EQ(summary["replacement"], "zero");
  EXPECT_EQ(summary["replacement_note"], "A removed head writes zeros.");
  EXPECT_NE(summary["rankings"][0]["effect"]["loss"], loss);
  EXPECT_EQ(read(folder.path() / "llama/pruned/config.json"), read(test::golden_model("llama") / "config.json"));

  const Outcome fallback = run_program(words("mistral", {}));
  ASSERT_EQ(fallback.code, 0) << fallback.err;
  EXPECT_THAT(fallback.out,
              HasSubstr("A removed head writes zeros, not its mean: mistral has no bias of the output projection.\n"));
  expect_failure(words("mistral", {"--replace", "mean"}), 3, "--replace mean: the means cannot be stored");
  EXPECT_EQ(run_program(words("mistral", {"--replace", "mean", "--write", "none"})).code, 0);
  expect_failure(words("llama", {"--replace", "noise"}), 2, "--replace");
}

TEST(PruneCommand, SaysWhichCriteriaBeatRandomOrders) {
  const TemporaryFolder folder;
  const std::string ids = write_ids(folder);
  const auto summary = [&](const std::string& criteria, const std::string& orders) {
    const fs::path run = folder.path() / ("run" + criteria + orders);
    const Outcome outcome = run_program({"prune", kInduction, "-o", run.string(), "--ids", ids, "--criteria", criteria,
                                         "--seeds", "2", "--orders", orders, "--points", "1", "--write", "none"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    auto json = nlohmann::json::parse(read(run / "prune.json"));
    EXPECT_THAT(outcome.out, testing::StartsWith(json["said"].get<std::string>() + "\n"));
    EXPECT_EQ(json["verdict"][0], json["said"]);
    EXPECT_EQ(nlohmann::json::parse(read(run / "manifest.json"))["commands"]["prune"]["verdict"], json["verdict"]);
    return json;
  };
  EXPECT_EQ(summary("random", "2")["said"], "No criterion was tried, only random orders.");
  EXPECT_THAT(summary("pk,norm", "2")["said"].get<std::string>(), HasSubstr("Without random orders"));

  // 39 orders cannot give two criteria a p below 0.05, 40 can.
  for (const std::string orders : {"39", "40"}) {
    const auto found = summary("greedy,pk,random", orders);
    const std::string said = found["said"];
    EXPECT_EQ(found["criteria_tried"], 2);
    EXPECT_THAT(said, HasSubstr("2 tried (greedy and pk)"));
    EXPECT_THAT(said, HasSubstr("p is corrected for 2 criteria"));
    std::size_t winners = 0;
    for (const auto& one : found["rankings"]) {
      if (one["criterion"] == "random") continue;
      for (const char* control : {"random", "random_by_layer"}) {
        EXPECT_EQ(one[control]["p_corrected"], std::min(1.0, 2 * one[control]["p"].get<double>()));
      }
      const bool beats = one["random"]["p_corrected"] < 0.05 && one["random_by_layer"]["p_corrected"] < 0.05;
      EXPECT_EQ(one["beats_random"], beats);
      winners += beats ? 1U : 0U;
    }
    EXPECT_EQ(said.starts_with("No criterion beats random orders"), winners == 0) << said;
    EXPECT_LE(winners, orders == "39" ? 0U : 2U);
  }
  const std::string table = read(folder.path() / "rungreedy,pk,random40" / "orders.csv");
  EXPECT_THAT(table, testing::StartsWith("control,criterion,seed,damage,loss,accuracy,kl,agreement,change\n"));
  EXPECT_THAT(table, HasSubstr("\nrandom,,0,"));
  EXPECT_THAT(table, HasSubstr("\nrandom-by-layer,pk,0,"));
}

TEST(PruneCommand, WritesTheModelOfTheCriterionAskedFor) {
  const TemporaryFolder folder;
  const std::string ids = write_ids(folder);
  const fs::path run = folder.path() / "run";
  const std::vector<std::string> command = {"prune",   kInduction, "-o",         run.string(), "--ids",    ids,
                                            "--count", "2",        "--criteria", "norm,pk",    "--points", "1"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = command;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  ASSERT_EQ(run_program(with({"--write", "pk", "--protect", "L0H0"})).code, 0);
  const auto pruned = nlohmann::json::parse(read(run / "pruned.json"));
  EXPECT_EQ(pruned["criterion"], "pk");
  EXPECT_EQ(read(run / "ranking.csv").find(",L0H0,"), std::string::npos);
  // Another budget is another result.
  expect_failure(with({"--write", "none"}), 2, "holds the result of another 'prune'");
  ASSERT_EQ(run_program(with({"--write", "none", "--force"})).code, 0);
  EXPECT_FALSE(fs::exists(run / "pruned/model.safetensors"));
  expect_failure(with({"--write", "greedy", "--force"}), 2, "expected best, none or one of the requested criteria");
}

TEST(PruneCommand, MeasuresClassifiersByTheirLabels) {
  const TemporaryFolder folder;
  const auto inputs = test::golden_inputs("vit");
  const auto& first = inputs.front().pixels;
  std::vector<float> pixels;
  for (const ModelInput& input : inputs)
    pixels.insert(pixels.end(), input.pixels.values.begin(), input.pixels.values.end());
  const fs::path path = folder.path() / "pixels.npy";
  write_npy<float>(path, pixels, Shape{inputs.size(), first.channels, first.height, first.width});
  const std::vector<std::int64_t> labels(inputs.size(), 1);
  write_npy<std::int64_t>(folder.path() / "labels.npy", labels, Shape{labels.size()});
  const Outcome outcome =
      run_program({"prune", test::golden_model("vit").string(), "-o", (folder.path() / "run").string(), "--pixels",
                   path.string(), "--labels", (folder.path() / "labels.npy").string(), "--criteria",
                   "greedy,information", "--count", "1", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["damage_measure"], "loss");
  EXPECT_TRUE(fs::exists(folder.path() / "run/pruned/model.safetensors"));
}

TEST(PruneCommand, WritesAGgufFileWhereNoBlockReachesOverSeveralHeads) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  const std::vector<std::string> command = {
      "prune", test::golden_model("gguf_llama").string(), "-o", run.string(), "--ids", write_ids(folder), "--json"};
  const Outcome outcome = run_program(command);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Outcome again =
      run_program({"prune", (run / "pruned/model.gguf").string(), "-o", (folder.path() / "again").string(), "--ids",
                   write_ids(folder), "--criteria", "norm", "--json"});
  ASSERT_EQ(again.code, 0) << again.err;
  const auto pruned = nlohmann::json::parse(read(run / "pruned.json"));
  EXPECT_EQ(pruned["replacement"], "mean");
  EXPECT_NEAR(nlohmann::json::parse(again.out)["before"]["loss"].get<double>(), pruned["after"]["loss"].get<double>(),
              1e-5);
}

TEST(PruneCommand, SaysBeforehandThatAQuantizedFileCannotBeWritten) {
  const TemporaryFolder folder;
  const std::string model = std::string(HEADSCOPE_SOURCE_DIR) + "/tests/golden/checkpoints/gguf_llama_q8/model.gguf";
  const std::string run = (folder.path() / "run").string();
  expect_failure({"prune", model, "-o", run, "--ids", write_ids(folder)}, 3, "--write none ranks and measures");
}

TEST(PruneCommand, RefusesWithOneLineAndTheRightCode) {
  const TemporaryFolder folder;
  const std::string run = (folder.path() / "run").string();
  const std::string ids = write_ids(folder);
  const auto fails = [&](std::vector<std::string> more, int code, const std::string& text) {
    std::vector<std::string> all = {"prune", kInduction, "-o", run};
    all.insert(all.end(), more.begin(), more.end());
    expect_failure(all, code, text);
    EXPECT_FALSE(fs::exists(folder.path() / "run/curve.csv"));
  };
  fails({}, 2, "nothing to run the model on");
  fails({"--ids", ids, "--count", "17"}, 2, "the budget removes 17 heads, but only 16 of 16 may be removed");
  fails({"--ids", ids, "--count", "9", "--per-layer"}, 2, "9 heads of layer 0");
  fails({"--ids", ids, "--count", "0"}, 2, "--count");
  fails({"--ids", ids, "--fraction", "1.5"}, 2, "--fraction");
  fails({"--ids", ids, "--count", "2", "--fraction", "0.5"}, 2, "--");
  fails({"--ids", ids, "--protect", "L7H1"}, 2, "no query head L7H1");
  fails({"--ids", ids, "--protect", "head"}, 2, "--protect: expected a head such as L4H7, found 'head'");
  fails({"--ids", ids, "--heads", "99"}, 2, "no head 99");
  fails({"--ids", ids, "--criteria", "guess"}, 2, "--criteria: unknown value 'guess'; expected one of");
  fails({"--ids", ids, "--choose-on", "2"}, 2, "none is left to measure");
  fails({"--ids", ids, "--labels", ids}, 2, "64 labels for 2 inputs, expected one per input");
  fails({"--ids", (folder.path() / "none.npy").string()}, 3, "none.npy");
  fails({"--ids", ids, "--memory", "1K"}, 6, "budget");
}

}  // namespace
}  // namespace headscope::cli
