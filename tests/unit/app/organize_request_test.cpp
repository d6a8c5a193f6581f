#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "headscope/app/organize.h"
#include "headscope/io/json.h"
#include "headscope/run/run_contents.h"
#include "support/expect_error.h"
#include "support/map_files.h"
#include "support/run_bytes.h"
#include "support/temporary_folder.h"
#include "support/thread_ranks.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;
using test::bytes_of;
using test::TemporaryFolder;

OrganizeRequest request_for(const fs::path& source) {
  OrganizeRequest request;
  request.maps.source.file = source;
  request.draws = 2;
  return request;
}

TEST(OrganizeRequest, DefaultsAreThoseOfTheAnalysis) {
  const OrganizeRequest request;
  const QuestionnaireOptions options;
  EXPECT_EQ(request.epsilon, options.epsilon);
  EXPECT_EQ(request.tree, options.tree);
  EXPECT_EQ(request.draws, SparsityOptions().draws);
  EXPECT_EQ(request.seed, SparsityOptions().seed);
  EXPECT_EQ(request.dimensions, DiffusionMapOptions().dimensions);
  EXPECT_EQ(request.time, DiffusionMapOptions().time);
}

TEST(OrganizeRequest, GivesTheSameBytesInMemoryOnDiskAndOnAnyNumberOfRanks) {
  const TemporaryFolder folder;
  OrganizeRequest request = request_for(test::write_run(folder, 2, 3, 12));
  request.maps.skip_first = 1;
  const OrganizeOutcome held = run(request).value();
  EXPECT_EQ(held.files.names.front(), "haar/network.npy");
  EXPECT_EQ(held.files.names.size(), 18U);
  request.output.run = folder.path() / "run";
  EXPECT_EQ(bytes_of(run(request).value().files), bytes_of(held.files));
  request.output.run.clear();
  for (std::size_t size = 2; size <= 4; ++size) {
    test::on_ranks(size, [&](Ranks& ranks) {
      const auto outcome = run(request, {.ranks = ranks});
      ASSERT_EQ(outcome.has_value(), ranks.is_root());
      if (!outcome) return;
      EXPECT_EQ(bytes_of(outcome->files), bytes_of(held.files)) << size << " ranks";
    });
  }
}

TEST(OrganizeRequest, AnOutcomeCanBeWrittenAgainWithoutItsCoefficients) {
  const TemporaryFolder folder;
  const OrganizeOutcome outcome = run(request_for(test::write_maps(folder, "maps", {3, 8, 9}))).value();
  InMemoryRun again;
  RunFolder to(RunCommand(), again);
  write(outcome, to);
  to.commit();
  auto expected = bytes_of(outcome.files);
  EXPECT_EQ(expected.erase("haar/network.npy"), 1U);
  EXPECT_EQ(bytes_of(again), expected);
}

TEST(OrganizeRequest, TheIdentityHasEveryOptionAndWhatTheMapsDecide) {
  const TemporaryFolder folder;
  OrganizeRequest request = request_for(test::write_maps(folder, "maps", {3, 8, 9}));
  request.maps.queries = IndexRange{1, 7};
  const auto several = run(request).value().files.memory->command.identity;
  EXPECT_EQ(several.at("iterations"), "3");
  EXPECT_EQ(several.at("alpha"), "0");
  EXPECT_EQ(several.at("beta"), "1");
  EXPECT_EQ(several.at("queries"), "1-6");
  EXPECT_EQ(several.at("keys"), "");
  EXPECT_EQ(several.at("what"), "pattern");
  EXPECT_EQ(several.at("device"), "cpu");
  EXPECT_EQ(several.at("source").size(), 16U);
  for (const char* circumstance : {"memory", "threads", "run", "force"}) {
    EXPECT_FALSE(several.contains(circumstance)) << circumstance;
  }
  request.maps.selection.heads = {{{}, 1}};
  const auto one = run(request).value().files.memory->command.identity;
  EXPECT_EQ(one.at("iterations"), "10");
  EXPECT_EQ(one.at("alpha"), "1");
  EXPECT_EQ(one.at("beta"), "0");
  EXPECT_EQ(one.at("heads"), "1");
  request.iterations = 2;
  EXPECT_EQ(run(request).value().files.memory->command.identity.at("iterations"), "2");
}

TEST(OrganizeRequest, SummaryAndJsonAgree) {
  const TemporaryFolder folder;
  const OrganizeOutcome outcome = run(request_for(test::write_run(folder, 1, 3, 10))).value();
  EXPECT_THAT(summary(outcome),
              testing::HasSubstr("3 heads x 10 queries x 10 keys, pattern, 45 % of the entries absent"));
  const auto json = nlohmann::json::parse(to_json(outcome));
  EXPECT_EQ(json["heads"], 3);
  EXPECT_EQ(json["what"], "pattern");
  EXPECT_EQ(json["network"]["l1"]["found"], outcome.sparsity.network.found.l1);
  EXPECT_EQ(json["scores"], outcome.organization.scores);
  EXPECT_EQ(json["files"].size(), 18U);
}

TEST(OrganizeRequest, ReportsProgressAndEndsIfItIsCancelled) {
  const TemporaryFolder folder;
  OrganizeRequest request = request_for(test::write_maps(folder, "maps", {3, 8, 9}));
  request.output.run = folder.path() / "run";
  double reached = 0;
  Context context;
  context.on_progress = [&](std::string_view stage, double fraction) {
    EXPECT_EQ(stage, "organizing");
    EXPECT_GE(fraction, reached);
    reached = fraction;
  };
  ASSERT_TRUE(run(request, context));
  EXPECT_NEAR(reached, 1, 1e-12);
  fs::remove_all(request.output.run);
  context.poll = [] { throw Cancelled(); };
  EXPECT_THROW(static_cast<void>(run(request, context)), Cancelled);
  EXPECT_FALSE(fs::exists(request.output.run));
}

}  // namespace
}  // namespace headscope
