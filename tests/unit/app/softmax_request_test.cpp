#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "headscope/app/softmax.h"
#include "support/expect_error.h"
#include "support/map_files.h"
#include "support/run_bytes.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

using test::bytes_of;
using test::TemporaryFolder;
using testing::ElementsAre;

SoftmaxRequest request_for(const std::filesystem::path& source) {
  SoftmaxRequest request;
  request.maps.source.file = source;
  request.draws = 1;
  return request;
}

TEST(SoftmaxRequest, DefaultsAreThoseOfTheAnalysis) {
  const SoftmaxRequest request;
  const SoftmaxOptions options;
  EXPECT_EQ(request.iterations, options.questionnaire.iterations);
  EXPECT_EQ(request.boundary, options.boundary);
  EXPECT_EQ(request.draws, options.draws);
  EXPECT_EQ(request.seed, options.seed);
}

TEST(SoftmaxRequest, WritesArraysOfSelectedHeadsUnlessItIsToldOtherwise) {
  const TemporaryFolder folder;
  SoftmaxRequest request = request_for(test::write_run(folder, 1, 2, 10));
  const SoftmaxOutcome all = run(request).value();
  EXPECT_THAT(all.files.names, ElementsAre("invariance.csv", "invariance_levels.csv", "invariance_inputs.csv"));
  EXPECT_EQ(all.files.memory->command.identity.at("paraproduct"), "none");
  request.maps.selection.heads = {{0, 1}};
  const SoftmaxOutcome one = run(request).value();
  EXPECT_THAT(one.files.names,
              ElementsAre("paraproduct/L0H1.npz", "invariance.csv", "invariance_levels.csv", "invariance_inputs.csv"));
  EXPECT_EQ(one.files.memory->command.identity.at("paraproduct"), "all");
  request.output.run = folder.path() / "run";
  EXPECT_EQ(bytes_of(run(request).value().files), bytes_of(one.files));
  request.paraproduct = KeptArrays::kNone;
  request.output.force = true;
  EXPECT_THAT(run(request).value().files.names,
              ElementsAre("invariance.csv", "invariance_levels.csv", "invariance_inputs.csv"));
}

TEST(SoftmaxRequest, DrawsNoConclusionFromFewTokensAndPrintsNoNan) {
  for (const std::size_t tokens : {2U, 3U, 7U}) {
    const TemporaryFolder folder;
    const std::string text = summary(run(request_for(test::write_run(folder, 1, 2, tokens))).value());
    EXPECT_THAT(text, testing::StartsWith(fmt::format("No conclusion: {0} queries x {0} keys are too few", tokens)));
    EXPECT_THAT(text, testing::Not(testing::HasSubstr("nan"))) << text;
  }
}

TEST(SoftmaxRequest, TakesAllKeysUnlessAMaskIsGiven) {
  const TemporaryFolder folder;
  SoftmaxRequest request = request_for(test::write_run(folder, 1, 2, 10));
  EXPECT_FALSE(run(request).value().maps.masked);
  request.maps.mask = "causal";
  EXPECT_TRUE(run(request).value().maps.masked);
}

TEST(SoftmaxRequest, TheTableAndTheJsonHaveTheSameNumbers) {
  const TemporaryFolder folder;
  const SoftmaxOutcome outcome = run(request_for(test::write_run(folder, 1, 2, 10))).value();
  ASSERT_EQ(outcome.heads.size(), 2U);
  EXPECT_EQ(outcome.heads[1].head, "L0H1");
  EXPECT_EQ(outcome.heads[1].scores.rows(), 0U);
  const Table& table = *outcome.files.memory->files.front().table;
  const auto json = nlohmann::json::parse(to_json(outcome));
  EXPECT_EQ(json["queries"], 10);
  ASSERT_EQ(json["invariance"].size(), 2U);
  EXPECT_EQ(json["invariance"][1].size(), table.columns().size());
  const auto& values = std::get<std::vector<double>>(table.values(table.find("alpha_residual").value()));
  EXPECT_EQ(values[1], outcome.heads[1].found.residual.alpha);
  EXPECT_EQ(json["invariance"][1]["error_first"], outcome.heads[1].found.error_first);
  EXPECT_EQ(json["invariance"][1]["softmax_approximation_rand_key"], outcome.heads[1].softmax_approximation.rand_key);
  EXPECT_THAT(summary(outcome), testing::HasSubstr("2 heads, 10 queries x 10 keys"));
}

}  // namespace
}  // namespace headscope
