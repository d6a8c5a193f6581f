#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "headscope/relate/labels.h"
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
using Json = nlohmann::json;

const std::string kInduction = std::string(HEADSCOPE_SOURCE_DIR) + "/models/induction";
const std::string kForward = std::string(HEADSCOPE_SOURCE_DIR) + "/tests/golden/forward/";

TEST(Detect, WritesATableAndLabelsThatRelateTakes) {
  const TemporaryFolder folder;
  const std::string run = (folder.path() / "run").string();
  const Outcome outcome = run_program({"detect", kInduction, "-o", run, "--labels", "--quiet"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("32 random sequences of 64 tokens (64 of 32); mean +- "));
  EXPECT_THAT(outcome.out, HasSubstr("  previous   L0H6 0.7"));
  EXPECT_THAT(outcome.out, HasSubstr("  duplicate  none; the best is "));
  const std::string table = read(fs::path(run) / "detectors.csv");
  EXPECT_THAT(table,
              testing::StartsWith(
                  "head,layer,index,previous,identity,duplicate,induction,next,first,threshold,detected,at_one_length,"
                  "previous_sd,"));
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 17);
  EXPECT_THAT(table, HasSubstr(",0.4,previous,,"));
  const std::string lengths = read(fs::path(run) / "detector_lengths.csv");
  EXPECT_THAT(lengths, HasSubstr("\nprevious,64,32,"));
  EXPECT_THAT(lengths, HasSubstr("\ninduction,32,64,"));
  const HeadLabels labels = load_labels(fs::path(run) / "labels.json");
  ASSERT_EQ(labels.classes().size(), 4u);
  EXPECT_EQ(labels.classes()[0].name, "previous");
  EXPECT_EQ(labels.classes()[0].heads, (std::vector<HeadId>{{0, 6}}));
  EXPECT_TRUE(labels.classes()[1].ignored);
  EXPECT_THAT(labels.classes()[3].heads, testing::Contains(HeadId{1, 0}));
  const Json manifest = Json::parse(read(fs::path(run) / "manifest.json"));
  EXPECT_EQ(manifest["files"]["detectors.csv"]["shape"], Json({16, 31}));
  const Outcome related = run_program(
      {"relate", kInduction, "-o", run, "--labels", run + "/labels.json", "--null", "isotropic", "--quiet"});
  EXPECT_EQ(related.code, 0) << related.err;
  EXPECT_TRUE(fs::exists(fs::path(run) / "labels.csv"));
}

// Nothing found is a label file too.
TEST(Detect, LabelsWithoutHeadsAreStillLabels) {
  const TemporaryFolder folder;
  for (const std::string model : {"llama", "vit"}) {
    const std::string run = (folder.path() / model).string();
    ASSERT_EQ(run_program({"detect", kForward + model, "-o", run, "--labels", "--threshold", "1", "--sequences", "2",
                           "--quiet"})
                  .code,
              0);
    const HeadLabels labels = load_labels(fs::path(run) / "labels.json");
    EXPECT_EQ(labels.classes().size(), model == "vit" ? 1u : 4u);
    for (const auto& one : labels.classes()) EXPECT_TRUE(one.heads.empty());
  }
}

TEST(Detect, GivesTheSameBytesForAnyNumberOfThreads) {
  const TemporaryFolder folder;
  for (const char* threads : {"1", "2"}) {
    const std::string run = (folder.path() / threads).string();
    ASSERT_EQ(run_program({"detect", kInduction, "-o", run, "--threads", threads, "--quiet"}).code, 0);
  }
  EXPECT_EQ(read(folder.path() / "1/detectors.csv"), read(folder.path() / "2/detectors.csv"));
}

TEST(Detect, PrintsJsonWhoseScoresImagesHaveFewerOf) {
  const TemporaryFolder folder;
  const Outcome outcome = run_program(
      {"detect", kForward + "vit", "-o", (folder.path() / "run").string(), "--json", "--sequences", "2", "--quiet"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json said = Json::parse(outcome.out);
  EXPECT_EQ(said["sequences"], 2);
  EXPECT_TRUE(said["bos"].is_null());
  ASSERT_EQ(said["heads"].size(), 4u);
  EXPECT_TRUE(said["heads"][0].contains("identity"));
  EXPECT_FALSE(said["heads"][0].contains("induction"));
  const Outcome text = run_program({"detect", kForward + "llama", "-o", (folder.path() / "text").string(), "--json",
                                    "--sequences", "2", "--length", "8", "--quiet"});
  EXPECT_EQ(Json::parse(text.out)["bos"], 1);
  EXPECT_EQ(Json::parse(text.out)["length"], 8);
}

TEST(Detect, RefusesWrongInputInOneLine) {
  const TemporaryFolder folder;
  const std::string run = (folder.path() / "run").string();
  const auto command = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"detect", kInduction, "-o", run, "--quiet"});
    return more;
  };
  expect_failure(command({"--length", "7"}), 2, "sequences of 7 tokens, expected an even number from 4 to 64");
  expect_failure(command({"--length", "2"}), 2, "expected an even number");
  expect_failure(command({"--sequences", "0"}), 2, "--sequences");
  expect_failure(command({"--threshold", "1.5"}), 2, "--threshold");
  expect_failure(command({"--memory", "1K"}), 6, "use a larger --memory");
  expect_failure({"detect", folder.path().string(), "-o", run}, 3, folder.path().string());
  expect_failure({"detect", std::string(HEADSCOPE_SOURCE_DIR) + "/tests/golden/families/longformer", "-o", run}, 3,
                 "headscope cannot run this model");
  EXPECT_FALSE(fs::exists(run));
  ASSERT_EQ(run_program(command({"--sequences", "2"})).code, 0);
  expect_failure(command({"--sequences", "3"}), 2, "--sequences was 2, now 3");
}

}  // namespace
}  // namespace headscope::cli
