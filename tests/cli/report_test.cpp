#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/read.h"
#include "support/run_files.h"
#include "support/run_program.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

using test::read;

using test::expect_failure;
using test::Outcome;
using test::run_program;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kDetectors =
    "head,layer,index,previous,identity,duplicate,induction,threshold,detected\nL0H0,0,0,0.5,0.1,0.1,0.1,0.4,"
    "previous\n";

// A RUN of one table, beside which the page goes.
struct Folder {
  test::RunFiles run;
  test::TemporaryFolder out;
  std::string page = (out.path() / "report.html").string();

  Folder() {
    run.text("detectors.csv", kDetectors);
    run.finish();
  }
  [[nodiscard]] Outcome report(std::vector<std::string> more = {}) const {
    std::vector<std::string> args = {"report", run.path().string(), "-o", page};
    args.insert(args.end(), more.begin(), more.end());
    return run_program(args);
  }
};

TEST(Report, WritesOnePageAndSaysWhatItShows) {
  const Folder folder;
  const Outcome outcome = folder.report();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("One page of relate\n"));
  const std::string page = read(folder.page);
  EXPECT_THAT(page, StartsWith("<!doctype html><!-- headscope report -->"));
  EXPECT_THAT(page, HasSubstr("Content-Security-Policy"));
  EXPECT_THAT(page, HasSubstr("id=\"block-0\""));
  EXPECT_LT(page.size(), 3'000'000u);
}

TEST(Report, LimitsTheDataOfThePage) {
  const test::TemporaryFolder folder;
  const std::string run = (folder.path() / "run").string();
  const std::string page = (folder.path() / "report.html").string();
  const std::string model = std::string(HEADSCOPE_SOURCE_DIR) + "/models/demo";
  ASSERT_EQ(run_program({"relate", model, "-o", run}).code, 0);
  EXPECT_THAT(run_program({"report", run, "-o", page, "--max-data", "2K"}).out, HasSubstr("affinity"));
  EXPECT_EQ(run_program({"report", run, "-o", page}).out.find("affinity"), std::string::npos);
  expect_failure({"report", run, "-o", page, "--max-data", "little"}, 2, "--max-data: expected a size such as 8G");
}

TEST(Report, ReplacesAReportButNothingElse) {
  const Folder folder;
  EXPECT_EQ(folder.report().code, 0);
  EXPECT_EQ(folder.report().code, 0);
  std::ofstream(folder.page) << "my thesis";
  const Outcome refused = folder.report();
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("exists and is not a report"));
  EXPECT_EQ(read(folder.page), "my thesis");
  EXPECT_EQ(folder.report({"--force"}).code, 0);
}

TEST(Report, NamesTroubleInOneLine) {
  const Folder folder;
  const test::TemporaryFolder empty;
  const std::string run = folder.run.path().string();
  const std::string other = empty.path().string();
  expect_failure({"report", other, "-o", folder.page}, 3, "no manifest.json");
  empty.write("manifest.json", R"({"files":{},"commands":{}})");
  expect_failure({"report", other, "-o", folder.page}, 3, "holds nothing to show");
  expect_failure({"report", run, "-o", other}, 2, "is a folder");
  expect_failure({"report", run, "-o", "/nowhere/at/all.html"}, 3, "/nowhere/at");
  expect_failure({"report", run}, 2, "--output");
  EXPECT_FALSE(std::filesystem::exists(folder.page));
}

}  // namespace
}  // namespace headscope
