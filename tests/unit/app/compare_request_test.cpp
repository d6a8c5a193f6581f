#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "headscope/app/compare.h"
#include "support/expect_error.h"
#include "support/map_files.h"
#include "support/run_bytes.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;
using test::bytes_of;
using test::TemporaryFolder;

// Two folders of maps without a manifest, the second with two inputs.
class CompareRequestTest : public testing::Test {
 protected:
  CompareRequestTest() {
    const fs::path captured = test::write_run(folder_, 2, 2, 10);
    fs::copy(captured, folder_.path() / "two");
    fs::create_directories(folder_.path() / "two/inputs");
    fs::copy(captured, folder_.path() / "two/inputs/1");
    request_.runs = {captured, folder_.path() / "two"};
    request_.draws = 2;
  }

  TemporaryFolder folder_;
  CompareRequest request_;
};

TEST_F(CompareRequestTest, DefaultsAreThoseOfTheAnalysis) {
  const CompareRequest request;
  const SignatureOptions options;
  EXPECT_EQ(request.iterations, options.questionnaire.iterations);
  EXPECT_EQ(request.draws, options.draws);
  EXPECT_EQ(request.seed, options.seed);
}

TEST_F(CompareRequestTest, GivesTheSameBytesInMemoryAndOnDisk) {
  const CompareOutcome outcome = run(request_).value();
  request_.output.run = folder_.path() / "run";
  EXPECT_EQ(bytes_of(run(request_).value().files), bytes_of(outcome.files));
  InMemoryRun again;
  RunFolder to(RunCommand(), again);
  write(outcome, to);
  to.commit();
  EXPECT_EQ(bytes_of(again), bytes_of(outcome.files));
}

TEST_F(CompareRequestTest, SaysWhatWasCompared) {
  const CompareOutcome outcome = run(request_).value();
  ASSERT_EQ(outcome.sources.size(), 2U);
  EXPECT_EQ(outcome.sources[0].run.name, "captured");
  EXPECT_EQ(outcome.sources[0].inputs, 1U);
  EXPECT_EQ(outcome.sources[1].inputs, 2U);
  EXPECT_EQ(outcome.sources[1].kind, "maps");
  EXPECT_EQ(outcome.sources[1].heads, 4U);
  EXPECT_EQ(outcome.sources[1].min_tokens, 10U);
  EXPECT_EQ(outcome.sources[1].axes.size(), 3U);
  EXPECT_THAT(summary(outcome), testing::HasSubstr("maps, 4 heads, 2 inputs of 10 tokens"));
  const auto json = nlohmann::json::parse(to_json(outcome));
  EXPECT_EQ(json["runs"][1]["tokens"], "10");
  EXPECT_EQ(json["pairs"][0]["verdict"], pair_verdict(outcome.comparison, 0, 1));
  request_.max_inputs = 1;
  EXPECT_EQ(run(request_).value().sources[1].inputs, 1U);
}

TEST_F(CompareRequestTest, AddsTheInformativenessOfTheManifestsRuns) {
  const std::string header =
      "pair,pairs,observed_mean,observed_sd,random_mean,random_sd,kl,bin_width,smoothed,kl_fine,fine_width,"
      "fine_smoothed,kl_closed_form\n";
  const auto write_table = [&](const std::string& text) {
    for (const fs::path& run : request_.runs) std::ofstream(run / "informativeness.csv") << text;
  };
  write_table(header + "OQ,4,1,0.5,2,0.25,0.5,0.1,no,0.75,0.1,no,0.5\n");
  const std::size_t features = run(request_).value().sources[0].run.features.size();  // the manifest does not list it
  for (const fs::path& run : request_.runs) {
    std::ofstream(run / "manifest.json") << R"({"files": {"informativeness.csv": {}}, "commands": {}})";
  }
  const CompareOutcome outcome = run(request_).value();
  ASSERT_EQ(outcome.sources[0].run.features.size(), features + 1);
  EXPECT_EQ(outcome.sources[0].run.features.back().name, "informativeness OQ");
  EXPECT_EQ(outcome.sources[0].run.features.back().samples[0][0], 0.75);
  write_table(header + "OQ,4,1,0.5,2,0.25,0.5,0.1,no,word,0.1,no,0.5\n");
  EXPECT_ERROR(run(request_), ErrorKind::kFormat, "informativeness.csv: 'word' in column 'kl_fine', row 1");
  write_table("pair\nOQ\n");
  EXPECT_ERROR(run(request_), ErrorKind::kFormat, "informativeness.csv: has no columns 'pair' and 'kl_fine'");
}

TEST_F(CompareRequestTest, NamesAreUnique) {
  request_.runs.push_back(request_.runs.front());
  const CompareOutcome outcome = run(request_).value();
  EXPECT_EQ(outcome.sources[2].run.name, request_.runs.front().string() + " (2)");
  request_.names = {"a", "b", "a"};
  EXPECT_ERROR(run(request_), ErrorKind::kInvalidArgument, "--names: duplicate name 'a'");
  request_.names = {"a"};
  EXPECT_ERROR(run(request_), ErrorKind::kInvalidArgument, "--names: 1 names for 3 RUNs");
  request_.runs.resize(1);
  EXPECT_ERROR(run(request_), ErrorKind::kInvalidArgument, "one RUN alone");
}

TEST_F(CompareRequestTest, ANewerFolderIsRejected) {
  std::ofstream(request_.runs[1] / "manifest.json") << R"({"schema": 9, "files": {}, "commands": {}})";
  EXPECT_ERROR(run(request_), ErrorKind::kUnsupported, "has version 9 of the run folder's schema");
}

}  // namespace
}  // namespace headscope
