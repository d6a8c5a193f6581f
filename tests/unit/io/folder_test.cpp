#include "headscope/io/folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include "headscope/base/system.h"
#include "headscope/io/byte_reader.h"
#include "support/expect_error.h"
#include "support/read.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;
using test::read;
using test::TemporaryFolder;

// A folder "run" with links to what is beside it and in it.
class FolderTest : public testing::Test {
 protected:
  FolderTest() {
    folder_.write("outside/secret.txt", "secret");
    folder_.write("run/sub/own.txt", "own");
    fs::create_directory_symlink(folder_.path() / "outside", run_ / "out");
    fs::create_symlink(folder_.path() / "outside/secret.txt", run_ / "secret.txt");
    fs::create_symlink("sub/own.txt", run_ / "alias.txt");
  }
  [[nodiscard]] Folder open() const { return Folder::open(run_); }

  const TemporaryFolder folder_;
  const fs::path run_ = folder_.path() / "run";
};

TEST_F(FolderTest, ReadsItsMembersAndLinksBetweenThem) {
  EXPECT_EQ(as_text(open().map("sub/own.txt").bytes()), "own");
  EXPECT_EQ(as_text(open().map("alias.txt").bytes()), "own");
  EXPECT_TRUE(open().has("secret.txt"));
  EXPECT_FALSE(open().has("out/secret.txt"));
  EXPECT_EQ(open().list("sub"), std::vector<std::string>{"own.txt"});
  EXPECT_TRUE(open().list("out").empty());
}

TEST_F(FolderTest, ReadsNothingOutside) {
  for (const char* name : {"secret.txt", "out/secret.txt", "../outside/secret.txt", "sub/../../outside/secret.txt"}) {
    EXPECT_ERROR(static_cast<void>(open().map(name)), ErrorKind::kIo, "leads out of the folder");
  }
  EXPECT_ERROR(static_cast<void>(open().map("missing")), ErrorKind::kIo, "No such file");
}

TEST_F(FolderTest, WritesNothingThroughALink) {
  EXPECT_LT(open().open_for_writing("secret.txt", O_WRONLY | O_TRUNC), 0);
  EXPECT_LT(open().open_for_writing("out/new.txt", O_WRONLY), 0);
  EXPECT_LT(open().open_for_writing("alias.txt", O_WRONLY), 0);
  EXPECT_ERROR(open().make_folders("out/deep", false), ErrorKind::kIo, "leads out of the folder");
  EXPECT_NE(open().rename("sub/own.txt", "out/own.txt"), 0);
  EXPECT_EQ(open().rename("sub/own.txt", "secret.txt"), 0);  // replaces the link, not what it leads to
  EXPECT_EQ(read(folder_.path() / "outside/secret.txt"), "secret");
  EXPECT_EQ(read(run_ / "secret.txt"), "own");
}

TEST_F(FolderTest, RemovesLinksNotWhatTheyLeadTo) {
  open().remove_all("out");
  fs::create_directory_symlink(folder_.path() / "outside", run_ / "sub/out");
  open().remove_all("sub");
  EXPECT_FALSE(fs::exists(run_ / "sub"));
  EXPECT_FALSE(fs::is_symlink(run_ / "out"));
  EXPECT_NE(open().remove("../outside/secret.txt"), 0);
  EXPECT_EQ(read(folder_.path() / "outside/secret.txt"), "secret");
}

TEST_F(FolderTest, MakesFoldersThatAreMissing) {
  EXPECT_EQ(open().make_folders("sub/a/b/file", true), (std::vector<fs::path>{"sub/a", "sub/a/b"}));
  EXPECT_TRUE(open().make_folders("sub/a/b", false).empty());
  folder_.write("run/file", "x");
  EXPECT_ERROR(open().make_folders("file/a", false), ErrorKind::kIo, "cannot create the folder");
}

TEST_F(FolderTest, StaysInsideOnSystemsWithoutASingleCallForIt) {
  const Folder folder = open();
  for (const char* name : {"secret.txt", "out/secret.txt", "../outside/secret.txt", "alias.txt", "", "/etc/passwd"}) {
    EXPECT_LT(open_beneath_by_component(folder.descriptor(), name, O_RDONLY), 0) << name;
  }
  const int descriptor = open_beneath_by_component(folder.descriptor(), "sub/own.txt", O_RDONLY);
  ASSERT_GE(descriptor, 0);
  EXPECT_EQ(as_text(MappedFile::map(descriptor, "own.txt").bytes()), "own");
}

TEST(MemberName, IsRelativeAndStraight) {
  EXPECT_TRUE(is_member_name("affinity/pk_OQ.npy"));
  for (const char* name : {"", "/a", "../a", "a/../b", "./a", "a/", "a/./b"})
    EXPECT_FALSE(is_member_name(name)) << name;
}

// A member that cannot be looked up is not a member that is missing.
TEST_F(FolderTest, SaysThatItCannotTellWhetherThereIsAMember) {
  const Folder folder = open();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_ERROR(static_cast<void>(folder.has("sub/own.txt")), ErrorKind::kIo, "own.txt: cannot open");
  EXPECT_ERROR(static_cast<void>(folder.list("sub")), ErrorKind::kIo, "sub: cannot read the folder");
  EXPECT_EQ(folder.sync("sub"), EMFILE);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(folder.has("sub/own.txt"));
}

}  // namespace
}  // namespace headscope
