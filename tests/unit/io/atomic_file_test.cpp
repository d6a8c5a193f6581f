#include "headscope/io/atomic_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

using test::TemporaryFolder;

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t files_in(const TemporaryFolder& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder.path()), {}));
}

// The process may write no file larger than this: a disk that fills up, without needing root.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(AtomicFile, AppearsOnlyWhenItIsCommitted) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "out.txt";
  AtomicFile file(path);
  file.write("one, ");
  file.write(std::as_bytes(std::span("two", 3)));
  EXPECT_FALSE(std::filesystem::exists(path));
  file.commit();
  EXPECT_EQ(contents(path), "one, two");
  EXPECT_EQ(files_in(folder), 1U);
}

TEST(AtomicFile, LeavesNothingBehindWithoutACommit) {
  const TemporaryFolder folder;
  {
    AtomicFile file(folder.path() / "out.txt");
    file.write("half a result");
    EXPECT_EQ(files_in(folder), 1U);
  }
  EXPECT_EQ(files_in(folder), 0U);
}

TEST(AtomicFile, KeepsTheOldFileUntilTheCommitReplacesIt) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.write("out.txt", "old");
  {
    AtomicFile abandoned(path);
    abandoned.write("never");
  }
  EXPECT_EQ(contents(path), "old");
  AtomicFile file(path);
  file.write("new");
  EXPECT_EQ(contents(path), "old");
  file.commit();
  EXPECT_EQ(contents(path), "new");
}

TEST(AtomicFile, WritesUnderAHiddenNameInTheSameFolder) {
  const TemporaryFolder folder;
  const AtomicFile file(folder.path() / "out.txt");
  const std::string name = std::filesystem::directory_iterator(folder.path())->path().filename().string();
  EXPECT_TRUE(name.starts_with(".out.txt." + std::to_string(::getpid()) + ".")) << name;
  EXPECT_TRUE(name.ends_with(".tmp")) << name;
}

TEST(AtomicFile, TwoWritersOfOneNameDoNotMeet) {
  const TemporaryFolder folder;
  AtomicFile first(folder.path() / "out.txt");
  AtomicFile second(folder.path() / "out.txt");
  first.write("first");
  second.write("second");
  second.commit();
  first.commit();
  EXPECT_EQ(contents(folder.path() / "out.txt"), "first");
}

TEST(AtomicFile, CanBeMovedWhileItIsWritten) {
  const TemporaryFolder folder;
  AtomicFile first(folder.path() / "out.txt");
  first.write("a");
  {
    AtomicFile second(std::move(first));
    second.write("b");
    second.commit();
  }
  EXPECT_EQ(contents(folder.path() / "out.txt"), "ab");
}

TEST(AtomicFile, AcceptsTheLongestNameAFileCanHave) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / std::string(255, 'n');
  AtomicFile file(path);
  file.commit();
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(AtomicFile, WritesIntoTheCurrentFolderWhenThePathNamesNone) {
  const TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  AtomicFile file("out.txt");
  file.commit();
  std::filesystem::current_path(before);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "out.txt"));
}

TEST(AtomicFile, ReportsAFullDiskAsMissingResourcesAndCleansUp) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.write("out.bin", "old");
  {
    AtomicFile file(path);
    const std::vector<std::byte> megabyte(1 << 20);
    const FileSizeLimit limit(100'000);
    EXPECT_ERROR(file.write(megabyte), ErrorKind::kResource, "out.bin: cannot write: File too large");
    EXPECT_EQ(files_in(folder), 1U);
    EXPECT_ERROR(file.commit(), ErrorKind::kResource, "cannot write");
  }
  EXPECT_EQ(contents(path), "old");
}

TEST(AtomicFile, ReportsAFolderThatIsNotThere) {
  const TemporaryFolder folder;
  EXPECT_ERROR(AtomicFile(folder.path() / "missing/out.txt"), ErrorKind::kIo, "cannot create: No such file");
}

TEST(AtomicFile, RefusesAPathThatEndsInASlash) {
  const TemporaryFolder folder;
  EXPECT_ERROR(AtomicFile(folder.path() / ""), ErrorKind::kInvalidArgument, "does not name a file");
}

TEST(AtomicFile, DoesNotReplaceAFolder) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "out");
  AtomicFile file(folder.path() / "out");
  EXPECT_ERROR(file.commit(), ErrorKind::kIo, "cannot replace");
  EXPECT_EQ(files_in(folder), 1U);
}

TEST(AtomicFile, ReplacesWhatALinkLeadsToAndKeepsTheLink) {
  const TemporaryFolder folder;
  const std::filesystem::path target = folder.write("real/out.txt", "old");
  std::filesystem::create_symlink("real/out.txt", folder.path() / "link.txt");
  AtomicFile file(folder.path() / "link.txt");
  file.write("new");
  file.commit();
  EXPECT_EQ(contents(target), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path() / "link.txt"));
}

TEST(AtomicFile, WritesToADeviceWithoutReplacingIt) {
  AtomicFile file("/dev/null");
  file.write("gone");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(AtomicFile, IsNotCommittedAfterAFailedPiece) {
  const TemporaryFolder folder;
  AtomicFile file(folder.path() / "out.bin");
  {
    const FileSizeLimit limit(1000);
    EXPECT_ERROR(file.write_at(900, std::vector<std::byte>(200)), ErrorKind::kResource, "cannot write");
  }
  EXPECT_ERROR(file.commit(), ErrorKind::kResource, "cannot write");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "out.bin"));
}

TEST(AtomicFile, RemovesWhatAKilledProcessLeft) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const TemporaryFolder folder;
  const auto orphan = folder.write(fmt::format(".out.txt.{}.0.tmp", child), "half");
  const auto running = folder.write(fmt::format(".out.txt.{}.0.tmp", ::getppid()), "in progress");
  const auto other = folder.write(fmt::format(".other.txt.{}.0.tmp", child), "half");
  AtomicFile file(folder.path() / "out.txt");
  EXPECT_FALSE(std::filesystem::exists(orphan));
  EXPECT_TRUE(std::filesystem::exists(running));
  EXPECT_TRUE(std::filesystem::exists(other));
}

}  // namespace
}  // namespace headscope
