#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include <nlohmann/json.hpp>
#include <string>

#include "headscope/app/detect.h"
#include "headscope/base/parallel.h"
#include "headscope/run/schema.h"
#include "support/expect_error.h"
#include "support/run_bytes.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

using test::bytes_of;
using test::TemporaryFolder;

DetectRequest small_request() {
  DetectRequest request;
  request.model.path = std::string(HEADSCOPE_SOURCE_DIR) + "/models/induction";
  request.sequences = 4;
  return request;
}

TEST(DetectRequest, DefaultsAreThoseOfTheAnalysis) {
  const DetectRequest request;
  const DetectOptions options;
  EXPECT_EQ(request.sequences, options.sequences);
  EXPECT_EQ(request.length, options.length);
  EXPECT_EQ(request.second_length, options.second_length);
  EXPECT_EQ(request.seed, options.seed);
  EXPECT_EQ(request.bos, !options.without_bos);
}

TEST(DetectRequest, GivesTheSameBytesInMemoryAndOnDiskWithAnyThreads) {
  const TemporaryFolder folder;
  DetectRequest request = small_request();
  request.labels = true;
  const DetectOutcome held = run(request).value();
  EXPECT_THAT(held.files.names, testing::ElementsAre("detectors.csv", "detector_lengths.csv", "labels.json"));
  const std::size_t threads = thread_count();
  for (const std::size_t count : {1U, 2U}) {
    request.output.run = folder.path() / std::to_string(count);
    request.resources.threads = count;
    EXPECT_EQ(bytes_of(run(request).value().files), bytes_of(held.files));
  }
  set_thread_count(threads);
}

TEST(DetectRequest, AnOutcomeCanBeWrittenAgain) {
  const DetectOutcome outcome = run(small_request()).value();
  EXPECT_THAT(outcome.files.names, testing::ElementsAre("detectors.csv", "detector_lengths.csv"));
  InMemoryRun again;
  RunFolder folder(RunCommand(), again);
  write(outcome, folder);
  folder.commit();
  EXPECT_EQ(bytes_of(again), bytes_of(outcome.files));
}

// The column `detected` lists exactly the detectors whose scores reach the threshold at both lengths.
TEST(DetectRequest, TheTableAgreesWithTheScores) {
  DetectRequest request = small_request();
  request.threshold = 0.1;
  const DetectOutcome outcome = run(request).value();
  const Table& table = *outcome.files.memory->files.front().table;
  ASSERT_EQ(table.rows(), outcome.result.heads.size());
  const auto& detected = std::get<std::vector<std::string>>(table.values(table.find("detected").value()));
  const auto& one = std::get<std::vector<std::string>>(table.values(table.find("at_one_length").value()));
  std::size_t found = 0;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    for (std::size_t d = 0; d < kDetectors.size(); ++d) {
      const std::string name(to_string(kDetectors[d]));
      const double score = std::get<std::vector<double>>(table.values(table.find(name).value()))[row];
      const double second = std::get<std::vector<double>>(table.values(table.find(name + "_second").value()))[row];
      if (!outcome.result.heads[row].scores[d]) {
        EXPECT_TRUE(std::isnan(score) && std::isnan(second));
        continue;
      }
      EXPECT_EQ(score, outcome.result.heads[row].scores[d]);
      EXPECT_EQ(second, outcome.result.heads[row].second[d]);
      const bool both = score >= request.threshold && second >= request.threshold;
      const bool any = score >= request.threshold || second >= request.threshold;
      EXPECT_EQ((" " + detected[row] + " ").find(" " + name + " ") != std::string::npos, both);
      EXPECT_EQ((" " + one[row] + " ").find(" " + name + " ") != std::string::npos, any && !both);
      if (both) ++found;
    }
  }
  EXPECT_GT(found, 0U);
}

TEST(DetectRequest, SummaryAndJsonHaveTheSameScores) {
  const DetectOutcome outcome = run(small_request()).value();
  EXPECT_THAT(summary(outcome), testing::StartsWith("1 previous-token, "));
  EXPECT_THAT(summary(outcome), testing::HasSubstr("induction heads of 16 at threshold 0.4, at both lengths (64 and 32 "
                                                   "tokens).\n4 random sequences of 64 tokens (8 of 32); "));
  EXPECT_THAT(summary(outcome), testing::HasSubstr("\ndetectors.csv and detector_lengths.csv ("));
  // Manifest, summary and JSON state the same.
  const std::vector<std::string>& verdict = outcome.files.memory->command.verdict;
  ASSERT_GE(verdict.size(), 2U);
  EXPECT_THAT(summary(outcome), testing::StartsWith(verdict.front() + "\n"));
  EXPECT_THAT(verdict.back(), testing::StartsWith("Uniform attention scores previous 0.0"));
  EXPECT_EQ(nlohmann::json::parse(to_json(outcome))["verdict"], verdict);
  const auto json = nlohmann::json::parse(to_json(outcome));
  EXPECT_EQ(json["sequences"], 4);
  EXPECT_EQ(json["threshold"], 0.4);
  ASSERT_EQ(json["heads"].size(), outcome.result.heads.size());
  EXPECT_EQ(json["heads"][6]["previous"], *outcome.result.heads[6].scores[0]);
}

// The golden checkpoints have random weights: nothing is found, and that is the first thing said.
TEST(DetectRequest, SaysThatNoHeadOfRandomWeightsIsDetected) {
  DetectRequest request = small_request();
  request.model.path = std::string(HEADSCOPE_SOURCE_DIR) + "/tests/golden/forward/llama";
  request.length = 16;
  const DetectOutcome outcome = run(request).value();
  EXPECT_THAT(summary(outcome), testing::StartsWith("No head of "));
  EXPECT_THAT(summary(outcome), testing::HasSubstr(" behaves as any of the 4 detectors at threshold 0.4, at both "
                                                   "lengths (16 and 32 tokens)."));
  request.second_length = 0;
  EXPECT_THAT(summary(run(request).value()), testing::HasSubstr("at 16 tokens, the only length.\n"));
}

TEST(DetectRequest, NamesHeadsOnWhichTheLengthsDisagree) {
  DetectOutcome outcome = run(small_request()).value();
  outcome.result.heads[2].scores[0] = 0.45;
  outcome.result.heads[2].second[0] = 0.31;
  EXPECT_THAT(summary(outcome),
              testing::HasSubstr("At only one of the lengths 64 and 32, not counted: L0H2 previous 0.45 and 0.31"));
}

TEST(DetectRequest, WrongValuesAreNamedWithWhatIsExpected) {
  DetectRequest request;
  OptionList options = options_of(request);
  EXPECT_EQ(options.find("bos")->spelling(), "--no-bos");
  EXPECT_ERROR(options.find("sequences")->set_words({"0"}), ErrorKind::kInvalidArgument,
               "--sequences: expected an integer from 1 to 100000, found '0'");
  EXPECT_ERROR(options.find("threshold")->set_words({"1.5"}), ErrorKind::kInvalidArgument,
               "--threshold: expected a number from 0 to 1, found '1.5'");
  request = small_request();
  request.length = 7;
  EXPECT_ERROR(run(request), ErrorKind::kInvalidArgument, "expected an even number from 4 to 64");
}

}  // namespace
}  // namespace headscope
