#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headscope/base/random.h"
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

// Runs of the induction model, on random tokens, twice, and of a tiny ViT, on random pixels.
class CompareCommand : public testing::Test {
 protected:
  std::string capture_text(const std::string& name, std::size_t inputs, std::uint64_t seed) {
    std::vector<std::int64_t> ids;
    for (std::size_t k = 0; k < inputs; ++k) {
      Random random(seed, {k});
      std::vector<std::int64_t> half(16);
      for (std::int64_t& id : half) id = static_cast<std::int64_t>(random.index(64));
      for (std::size_t i = 0; i < 32; ++i) ids.push_back(half[i % 16]);
    }
    const fs::path path = folder_.path() / (name + ".npy");
    write_npy<std::int64_t>(path, ids, Shape{inputs, 32});
    return capture(name, kInduction, "--ids", path);
  }

  std::string capture_images(const std::string& name, std::size_t inputs, std::uint64_t seed) {
    const Pixels one = test::golden_inputs("vit").front().pixels;
    std::vector<float> pixels(inputs * one.values.size());
    Random(seed).fill_normal(pixels);
    const fs::path path = folder_.path() / (name + ".npy");
    write_npy<float>(path, pixels, Shape{inputs, one.channels, one.height, one.width});
    return capture(name, test::golden_model("vit").string(), "--pixels", path);
  }

  std::string capture(const std::string& name, const std::string& model, const char* option, const fs::path& path) {
    std::string run = (folder_.path() / name).string();
    const Outcome outcome =
        run_program({"capture", model, "-o", run, option, path.string(), "--what", "pattern", "--no-output"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return run;
  }

  nlohmann::json compare(std::vector<std::string> runs) {
    runs.insert(runs.begin(), "compare");
    runs.insert(runs.end(), {"-o", out_.string(), "--json", "--force"});
    const Outcome outcome = run_program(runs);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out);
  }

  TemporaryFolder folder_;
  fs::path out_ = folder_.path() / "compared";
};

TEST_F(CompareCommand, TellsAVisionModelFromALanguageModelAndNoModelFromItself) {
  const std::string first = capture_text("first", 6, 1);
  const std::string second = capture_text("second", 6, 2);
  const std::string images = capture_images("images", 6, 3);
  const auto json = compare({first, second, images});
  ASSERT_EQ(json["pairs"].size(), 3u);
  EXPECT_EQ(json["pairs"][0]["differ"], 0) << json["differences"].dump(1);
  EXPECT_EQ(json["pairs"][0]["tested"], 17);
  EXPECT_GE(json["pairs"][1]["differ"].get<int>(), 3);
  EXPECT_GE(json["pairs"][2]["differ"].get<int>(), 3);
  EXPECT_GT(json["pairs"][1]["distance"].get<double>(), 2 * json["pairs"][0]["distance"].get<double>());
  const NpyFile distances = NpyFile::open(out_ / "distances.npy");
  EXPECT_EQ(distances.array().shape, (Shape{3, 3}));
  const auto names = nlohmann::json::parse(read(out_ / "compare.json"));
  EXPECT_EQ(names["runs"][2]["name"], "images");
  EXPECT_EQ(names["runs"][2]["kind"], "image");
  EXPECT_THAT(read(out_ / "comparison.csv"), testing::StartsWith("a,b,feature,mean_a,mean_b,difference,spread,p"));
  EXPECT_THAT(read(out_ / "features.csv"), HasSubstr("first,5,decay,0.5,"));
  EXPECT_EQ(names["pairs"][0]["verdict"], "no difference beyond the spread over inputs in 17 features");
  EXPECT_EQ(json["verdict"][0],
            "2 of 3 pairs of runs differ beyond the spread over inputs; p is corrected for the features and for 3 "
            "pairs.");
  EXPECT_EQ(json["verdict"].size(), 4u);
  EXPECT_EQ(nlohmann::json::parse(read(out_ / "manifest.json"))["commands"]["compare"]["verdict"], json["verdict"]);
  EXPECT_EQ(NpyFile::open(out_ / "compared/0/head.npy").array().shape, (Shape{16, 16}));
  EXPECT_EQ(nlohmann::json::parse(read(out_ / "compared/2/key.json"))["n"], 17);
}

TEST_F(CompareCommand, ARunIsNoDifferentFromItself) {
  const std::string run = capture_text("run", 3, 1);
  const auto json = compare({run, run});
  EXPECT_EQ(json["pairs"][0]["differ"], 0);
  EXPECT_EQ(json["pairs"][0]["distance"], 0);
  for (const auto& one : json["differences"]) EXPECT_TRUE(one["paired"].get<bool>());
  EXPECT_EQ(json["runs"][0]["name"], run);
  EXPECT_EQ(json["runs"][1]["name"], run + " (2)");
}

TEST_F(CompareCommand, PrintsATableForPeople) {
  const std::string first = capture_text("first", 2, 1);
  const std::string images = capture_images("images", 1, 3);
  const Outcome outcome = run_program({"compare", first, images, "-o", out_.string(), "--names", "words,pictures"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("[0] words"));
  EXPECT_THAT(outcome.out, HasSubstr("image, 4 heads, 1 input of 17 tokens"));
  EXPECT_THAT(outcome.out, HasSubstr("head balance"));
  EXPECT_THAT(outcome.out, testing::StartsWith("words and pictures: not tested: too few inputs"));
}

TEST_F(CompareCommand, ComparesWeightsWhereThereAreNoMaps) {
  const fs::path models = fs::path(HEADSCOPE_SOURCE_DIR) / "tests/golden/affinities";
  const std::string a = (folder_.path() / "a").string();
  const std::string b = (folder_.path() / "b").string();
  ASSERT_EQ(run_program({"relate", (models / "plain").string(), "-o", a}).code, 0);
  ASSERT_EQ(run_program({"relate", (models / "grouped").string(), "-o", b}).code, 0);
  const auto json = compare({a, b});
  EXPECT_EQ(json["differences"].size(), 3u);
  EXPECT_EQ(json["differences"][0]["feature"], "informativeness OQ");
  EXPECT_EQ(json["differences"][0]["verdict"], "untested");
  std::ofstream(fs::path(b) / "informativeness.csv") << "pair,kl_fine\nOQ,word\n";
  expect_failure({"compare", a, b, "-o", (folder_.path() / "c").string()}, 3,
                 "informativeness.csv: 'word' in column 'kl_fine', row 1: expected float64");
}

TEST_F(CompareCommand, RefusesWithOneLineAndTheRightCode) {
  const std::string run = capture_text("run", 1, 1);
  const std::string weights = (folder_.path() / "weights").string();
  ASSERT_EQ(run_program({"relate", kInduction, "-o", weights}).code, 0);
  fs::create_directories(folder_.path() / "empty");
  const std::string out = out_.string();
  expect_failure({"compare", run, "-o", out}, 2, "one RUN alone");
  expect_failure({"compare", run, weights, "-o", out}, 3, "RUNs of different kinds");
  expect_failure({"compare", run, (folder_.path() / "empty").string(), "-o", out}, 3, "holds neither pattern.npy");
  expect_failure({"compare", run, (folder_.path() / "none").string(), "-o", out}, 3, "no such folder");
  expect_failure({"compare", run, run, "-o", out, "--what", "scores"}, 3, "neither scores.npy");
  expect_failure({"compare", run, run, "-o", out, "--names", "one"}, 2, "1 names for 2 RUNs");
  expect_failure({"compare", run, run, "-o", out, "--names", "one,one"}, 2, "duplicate name 'one'");
  std::ofstream(fs::path(run) / "tokens.json") << "{";
  expect_failure({"compare", run, run, "-o", out}, 3, "tokens.json");
  EXPECT_FALSE(fs::exists(out_ / "comparison.csv"));
}

}  // namespace
}  // namespace headscope::cli
