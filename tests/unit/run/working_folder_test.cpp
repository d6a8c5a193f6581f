#include "run/working_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "headscope/run/run_contents.h"
#include "headscope/run/run_folder.h"
#include "support/expect_error.h"
#include "support/read.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;
using test::read;
using test::TemporaryFolder;

RunCommand command(const std::string& name) {
  return {name, {name}, {{"model", "m"}}, {}};
}

void write(const fs::path& run, const std::string& name, const std::vector<std::string>& files,
           const std::string& text) {
  RunFolder folder(run, command(name), false);
  for (const std::string& file : files) folder.add_text({.name = file, .kind = "table", .about = "A."}, text);
  folder.commit();
}

// Leaves the state of a process that was killed after it had decided to put "new" in place of "old" in two files, one
// of which it had already replaced, and to remove a third.
void leave_interrupted_commit(const fs::path& run) {
  write(run, "relate", {"a.csv", "sub/b.csv", "c.csv"}, "old");
  const fs::path working = run / ".headscope/relate";
  fs::create_directories(working);
  nlohmann::json manifest = nlohmann::json::parse(read(run / "manifest.json"));
  manifest["files"].erase("c.csv");
  std::ofstream(run / "a.csv") << "new";
  std::ofstream(working / "1") << "new";
  std::ofstream(working / "2") << manifest.dump();
  const nlohmann::json journal = {{"put",
                                   {{{"from", "0"}, {"to", "a.csv"}, {"replaces", true}},
                                    {{"from", "1"}, {"to", "sub/b.csv"}, {"replaces", true}},
                                    {{"from", "2"}, {"to", "manifest.json"}, {"replaces", true}}}},
                                  {"remove", {"c.csv"}}};
  std::ofstream(working / "journal") << journal.dump();
}

void expect_finished(const fs::path& run) {
  EXPECT_EQ(read(run / "a.csv"), "new");
  EXPECT_EQ(read(run / "sub/b.csv"), "new");
  EXPECT_FALSE(fs::exists(run / "c.csv"));
  EXPECT_FALSE(fs::exists(run / ".headscope"));
}

TEST(WorkingFolder, TheNextCommandFinishesAnInterruptedCommit) {
  const TemporaryFolder folder;
  leave_interrupted_commit(folder.path());
  write(folder.path(), "detect", {"d.csv"}, "d");
  expect_finished(folder.path());
  const auto manifest = nlohmann::json::parse(read(folder.path() / "manifest.json"));
  EXPECT_EQ(manifest["commands"].size(), 2u);
  EXPECT_EQ(manifest["files"].size(), 3u);
}

TEST(WorkingFolder, ReadingARunFinishesAnInterruptedCommit) {
  const TemporaryFolder folder;
  leave_interrupted_commit(folder.path());
  EXPECT_FALSE(RunContents(folder.path()).has("c.csv"));
  expect_finished(folder.path());
}

TEST(WorkingFolder, WhatWasNotDecidedIsRemoved) {
  const TemporaryFolder folder;
  leave_interrupted_commit(folder.path());
  std::ofstream(folder.path() / "a.csv") << "old";
  fs::remove(folder.path() / ".headscope/relate/journal");
  write(folder.path(), "detect", {"d.csv"}, "d");
  EXPECT_EQ(read(folder.path() / "a.csv"), "old");
  EXPECT_EQ(read(folder.path() / "sub/b.csv"), "old");
  EXPECT_FALSE(fs::exists(folder.path() / ".headscope"));
}

// A folder in the place of a file makes one of the renames fail.
TEST(WorkingFolder, AFailedCommitRestoresTheOldResult) {
  const TemporaryFolder folder;
  write(folder.path(), "relate", {"a.csv", "z.csv"}, "old");
  const std::string manifest = read(folder.path() / "manifest.json");
  {
    RunFolder run(folder.path(), command("relate"), true);
    for (const char* name : {"a.csv", "b.csv", "y/new.csv", "z.csv"}) {
      run.add_text({.name = name, .kind = "table", .about = "A."}, "new");
    }
    fs::remove(folder.path() / "z.csv");
    fs::create_directories(folder.path() / "z.csv/inside");
    EXPECT_ERROR(run.commit(), ErrorKind::kIo, "z.csv: cannot replace");
  }
  EXPECT_EQ(read(folder.path() / "a.csv"), "old");
  EXPECT_FALSE(fs::exists(folder.path() / "b.csv"));
  EXPECT_FALSE(fs::exists(folder.path() / "y"));
  EXPECT_EQ(read(folder.path() / "manifest.json"), manifest);
  EXPECT_FALSE(fs::exists(folder.path() / ".headscope"));
}

TEST(WorkingFolder, AJournalCannotReachOutsideTheRun) {
  for (const char* name : {"../outside.txt", "/tmp/outside.txt", ".headscope/other/journal", "link/outside.txt"}) {
    const TemporaryFolder folder;
    folder.write("outside.txt", "keep");
    const fs::path run = folder.path() / "run";
    fs::create_directories(run / ".headscope/relate");
    fs::create_directory_symlink(folder.path(), run / "link");
    std::ofstream(run / ".headscope/relate/0") << "bad";
    const nlohmann::json journal = {{"put", {{{"from", "0"}, {"to", name}}}}, {"remove", nlohmann::json::array()}};
    std::ofstream(run / ".headscope/relate/journal") << journal.dump();
    EXPECT_THROW(write(run, "detect", {"d.csv"}, "d"), Error) << name;
    EXPECT_EQ(read(folder.path() / "outside.txt"), "keep");
  }
}

TEST(WorkingFolder, ASecondProcessWithTheSameCommandIsRefusedAndOthersAreNot) {
  const TemporaryFolder folder;
  RunFolder first(folder.path(), command("relate"), false);
  EXPECT_ERROR(RunFolder(folder.path(), command("relate"), false), ErrorKind::kInvalidArgument,
               "'relate' is running there already (process " + std::to_string(::getpid()) + " on ");
  RunFolder other(folder.path(), command("detect"), false);
  first.add_text({.name = "a.csv", .kind = "table", .about = "A."}, "a");
  other.add_text({.name = "b.csv", .kind = "table", .about = "B."}, "b");
  first.commit();
  other.commit();
  const auto manifest = nlohmann::json::parse(read(folder.path() / "manifest.json"));
  EXPECT_EQ(manifest["commands"].size(), 2u);
  EXPECT_EQ(manifest["files"].size(), 2u);
}

TEST(WorkingFolder, AProcessThatWasKilledDoesNotBlockTheNext) {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    RunFolder run(folder.path(), command("relate"), false);
    run.add_text({.name = "a.csv", .kind = "table", .about = "A."}, "half");
    ::_exit(0);  // without destructors, like a kill
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(fs::exists(folder.path() / ".headscope/relate"));
  write(folder.path(), "relate", {"a.csv"}, "whole");
  EXPECT_EQ(read(folder.path() / "a.csv"), "whole");
  EXPECT_FALSE(fs::exists(folder.path() / ".headscope"));
}

TEST(WorkingFolder, ReadingFinishesTheFirstCommitOfAFolder) {
  const TemporaryFolder folder;
  leave_interrupted_commit(folder.path());
  fs::remove(folder.path() / "manifest.json");
  EXPECT_TRUE(RunContents(folder.path()).has("a.csv"));
  expect_finished(folder.path());
}

}  // namespace
}  // namespace headscope
