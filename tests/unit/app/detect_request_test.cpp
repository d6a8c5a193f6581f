#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  EXPECT_EQ(request.seed, options.seed);
  EXPECT_EQ(request.bos, !options.without_bos);
}

TEST(DetectRequest, GivesTheSameBytesInMemoryAndOnDiskWithAnyThreads) {
  const TemporaryFolder folder;
  DetectRequest request = small_request();
  request.labels = true;
  const DetectOutcome held = run(request).value();
  EXPECT_THAT(held.files.names, testing::ElementsAre("detectors.csv", "labels.json"));
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
  EXPECT_THAT(outcome.files.names, testing::ElementsAre("detectors.csv"));
  InMemoryRun again;
  RunFolder folder(RunCommand(), again);
  write(outcome, folder);
  folder.commit();
  EXPECT_EQ(bytes_of(again), bytes_of(outcome.files));
}

// The column `detected` lists exactly the detectors whose score reaches the threshold.
TEST(DetectRequest, TheTableAgreesWithTheScores) {
  DetectRequest request = small_request();
  request.threshold = 0.1;
  const DetectOutcome outcome = run(request).value();
  const Table& table = *outcome.files.memory->files.front().table;
  ASSERT_EQ(table.rows(), outcome.result.heads.size());
  const auto& detected = std::get<std::vector<std::string>>(table.values(table.find("detected").value()));
  std::size_t found = 0;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    for (std::size_t d = 0; d < kDetectors.size(); ++d) {
      const std::string name(to_string(kDetectors[d]));
      const double score = std::get<std::vector<double>>(table.values(table.find(name).value()))[row];
      EXPECT_EQ(score, outcome.result.heads[row].scores[d]);
      EXPECT_EQ((" " + detected[row] + " ").find(" " + name + " ") != std::string::npos, score >= request.threshold);
      if (score >= request.threshold) ++found;
    }
  }
  EXPECT_GT(found, 0U);
}

TEST(DetectRequest, SummaryAndJsonHaveTheSameScores) {
  const DetectOutcome outcome = run(small_request()).value();
  EXPECT_THAT(summary(outcome), testing::StartsWith("4 random sequences of 64 tokens, threshold 0.4\n"));
  EXPECT_THAT(summary(outcome), testing::HasSubstr("\ndetectors.csv ("));
  const auto json = nlohmann::json::parse(to_json(outcome));
  EXPECT_EQ(json["sequences"], 4);
  EXPECT_EQ(json["threshold"], 0.4);
  ASSERT_EQ(json["heads"].size(), outcome.result.heads.size());
  EXPECT_EQ(json["heads"][6]["previous"], *outcome.result.heads[6].scores[0]);
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
