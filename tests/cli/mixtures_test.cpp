// Commands on mixtures of experts and on attention with sinks and chunks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headscope/io/npy.h"
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
using testing::Not;

const std::string kFamilies = std::string(HEADSCOPE_SOURCE_DIR) + "/tests/golden/families/";

std::vector<float> floats(const fs::path& path) {
  return npy_values<float>(NpyFile::open(path).array(), path.string());
}

class Folder {
 public:
  Folder() {
    const std::vector<std::int64_t> ids = {3, 4, 5, 6, 7, 8, 9, 3, 4, 5, 6, 7};
    write_npy<std::int64_t>(folder_.path() / "ids.npy", ids, Shape{ids.size()});
  }
  [[nodiscard]] std::string ids() const { return (folder_.path() / "ids.npy").string(); }
  [[nodiscard]] fs::path run() const { return folder_.path() / "run"; }

 private:
  TemporaryFolder folder_;
};

TEST(Mixtures, TheSinksHaveWhatTheKeysLack) {
  const Folder folder;
  const Outcome outcome =
      run_program({"capture", kFamilies + "gpt_oss", "--ids", folder.ids(), "-o", folder.run().string(), "--quiet"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("on the sink"));
  const std::vector<float> pattern = floats(folder.run() / "pattern.npy");
  const std::vector<float> sinks = floats(folder.run() / "sinks.npy");
  ASSERT_EQ(pattern.size(), sinks.size() * 12);
  for (std::size_t row = 0; row < sinks.size(); ++row) {
    double sum = 0;
    for (std::size_t key = 0; key < 12; ++key) sum += static_cast<double>(pattern[row * 12 + key]);
    EXPECT_NEAR(sum + static_cast<double>(sinks[row]), 1, 1e-6);
    EXPECT_GT(sinks[row], 0.001);
  }
  // What reads the maps does not need rows that sum to 1.
  const Outcome organized = run_program({"organize", folder.run().string(), "-o", folder.run().string(), "--quiet"});
  EXPECT_EQ(organized.code, 0) << organized.err;
  const Outcome softmax = run_program({"softmax", folder.run().string(), "-o", folder.run().string(), "--quiet"});
  EXPECT_EQ(softmax.code, 0) << softmax.err;
}

TEST(Mixtures, FamiliesWithoutSinksHaveNoFileOfThem) {
  const Folder folder;
  const Outcome outcome =
      run_program({"capture", kFamilies + "llama4", "--ids", folder.ids(), "-o", folder.run().string(), "--quiet"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_FALSE(fs::exists(folder.run() / "sinks.npy"));
  const auto tokens = nlohmann::json::parse(read(folder.run() / "tokens.json"));
  EXPECT_EQ(tokens.at("chunks").get<std::vector<int>>(), (std::vector<int>{5, 5, 5, 0}));
}

TEST(Mixtures, InspectNamesTheSinksAndThatItRuns) {
  const Outcome outcome = run_program({"inspect", kFamilies + "gpt_oss"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("sinks"));
}

TEST(Mixtures, RelateComparesTheExpertsTogetherOrEach) {
  const Folder folder;
  const std::vector<std::string> relate = {
      "relate", kFamilies + "qwen2_moe", "--nodes", "heads,mlp", "--tokens-for", "none", "--quiet", "-o"};
  const auto run = [&](const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> arguments = relate;
    arguments.push_back((folder.run() / name).string());
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run_program(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return read(folder.run() / name / "components.csv");
  };
  fs::create_directories(folder.run());
  const std::string pooled = run("pooled", {});
  EXPECT_THAT(pooled, HasSubstr("L1M,"));
  EXPECT_THAT(pooled, Not(HasSubstr("L1M0,")));
  const std::string each = run("each", {"--experts", "each"});
  for (const char* name : {"L0M0,", "L1M3,", "L1M4,"}) EXPECT_THAT(each, HasSubstr(name));  // 4 is the shared one
  EXPECT_THAT(each, Not(HasSubstr("L1M5,")));
  EXPECT_THAT(each, Not(HasSubstr("L1M,")));
  expect_failure({"relate", kFamilies + "qwen2_moe", "--experts", "each", "-o", (folder.run() / "no").string()}, 2,
                 "--experts: expected mlp among --nodes");
}

TEST(Mixtures, PruneWritesOneThatRuns) {
  const Folder folder;
  const Outcome outcome = run_program(
      {"prune", kFamilies + "mixtral", "--ids", folder.ids(), "--count", "1", "-o", folder.run().string(), "--quiet"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Outcome inspected = run_program({"inspect", (folder.run() / "pruned").string()});
  EXPECT_EQ(inspected.code, 0) << inspected.err;
}

}  // namespace
}  // namespace headscope::cli
