#include "headscope/run/run_contents.h"

#include <gtest/gtest.h>

#include "headscope/run/run_folder.h"
#include "headscope/run/schema.h"
#include "headscope/run/schema/organize.h"
#include "support/expect_error.h"
#include "support/read.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

using test::read;
using test::TemporaryFolder;

// A folder with the results of two commands.
void fill(const std::filesystem::path& path) {
  RunFolder relate(path, {"relate", {"relate", "m"}, {{"model", "1"}}, {{"threads", "2"}}}, false);
  Table edges = make_table(run_files::kConvergence);
  edges.add_row({1, 0.5});
  relate.add_table(run_files::kConvergence, std::move(edges));
  relate.add_array({.name = "affinity/pk_OQ.npy", .kind = "array", .about = "PK.", .shape = {1, 2}, .axes = {"s", "t"}},
                   std::vector<float>{1, 2});
  relate.commit();
  RunFolder detect(path, {"detect", {"detect", "m"}, {{"model", "1"}}, {}}, false);
  detect.add_text({.name = "labels.json", .kind = "labels", .about = "Labels."}, "{}");
  detect.commit();
}

TEST(RunContents, ReadsTablesWithTheirTypes) {
  const TemporaryFolder folder;
  fill(folder.path() / "run");
  const RunContents contents(folder.path() / "run");
  EXPECT_EQ(contents.names().size(), 3U);
  EXPECT_EQ(contents.identity("relate", "model"), "1");
  const Table table = contents.table("convergence.csv");
  EXPECT_EQ(table.columns()[0].type, ColumnType::kInteger);
  EXPECT_EQ(std::get<std::vector<double>>(table.values(1)), std::vector<double>{0.5});
}

TEST(RunContents, KeepsTheVerdictOfACommand) {
  const TemporaryFolder folder;
  RunFolder run(folder.path() / "run", {"relate", {"relate", "m"}, {{"model", "1"}}, {}}, false);
  run.verdict() = {"No wiring beyond chance.", "0 of 36 pairs are beyond chance."};
  run.commit();
  const std::vector<std::string> expected = {"No wiring beyond chance.", "0 of 36 pairs are beyond chance."};
  const RunContents contents(folder.path() / "run");
  EXPECT_EQ(contents.verdict("relate"), expected);
  EXPECT_TRUE(contents.verdict("detect").empty());
  save_run(contents, "relate", folder.path() / "copy", false);
  EXPECT_EQ(RunContents(folder.path() / "copy").verdict("relate"), expected);
}

TEST(RunContents, LimitTextsIfAsked) {
  const TemporaryFolder folder;
  fill(folder.path() / "run");
  EXPECT_EQ(RunContents(folder.path() / "run", 100).table("convergence.csv").rows(), 1U);
  EXPECT_ERROR(RunContents(folder.path() / "run", 10).table("convergence.csv"), ErrorKind::kUnsupported,
               "convergence.csv: has 0 MB, more than");
}

TEST(RunContents, CopiesTheResultsOfOneCommand) {
  const TemporaryFolder folder;
  fill(folder.path() / "run");
  const RunContents contents(folder.path() / "run");
  save_run(contents, "relate", folder.path() / "copy", false);
  const RunContents copy(folder.path() / "copy");
  EXPECT_EQ(copy.names(), (std::vector<std::string>{"convergence.csv", "affinity/pk_OQ.npy"}));
  for (const std::string& name : copy.names()) EXPECT_EQ(read(copy.where(name)), read(contents.where(name))) << name;
  // The same command on the same input, without the other one, has the same manifest.
  std::filesystem::remove_all(folder.path() / "run");
  save_run(copy, "relate", folder.path() / "run", false);
  EXPECT_EQ(read(copy.where("manifest.json")), read(folder.path() / "run/manifest.json"));
  EXPECT_EQ(copy.identity("relate", "model"), "1");
  EXPECT_ERROR(save_run(copy, "detect", folder.path() / "other", false), ErrorKind::kInvalidArgument,
               "holds no result of 'detect'");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "other"));
}

TEST(RunContents, MayBeSavedToTheirOwnFolder) {
  const TemporaryFolder folder;
  fill(folder.path() / "run");
  const std::string before = read(folder.path() / "run/affinity/pk_OQ.npy");
  save_run(RunContents(folder.path() / "run"), "relate", folder.path() / "run", false);
  EXPECT_EQ(read(folder.path() / "run/affinity/pk_OQ.npy"), before);
  EXPECT_EQ(RunContents(folder.path() / "run").names().size(), 3U);
}

}  // namespace
}  // namespace headscope
