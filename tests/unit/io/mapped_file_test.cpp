#include "headscope/io/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <utility>

#include "headscope/io/byte_reader.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

using test::TemporaryFolder;

TEST(MappedFile, ShowsTheBytesOfTheFile) {
  const TemporaryFolder folder;
  const MappedFile file = MappedFile::open(folder.write("a.bin", std::string_view("a\0b", 3)));
  EXPECT_EQ(as_text(file.bytes()), std::string_view("a\0b", 3));
  EXPECT_EQ(file.path(), folder.path() / "a.bin");
}

TEST(MappedFile, OpensAnEmptyFile) {
  const TemporaryFolder folder;
  EXPECT_TRUE(MappedFile::open(folder.write("empty", "")).bytes().empty());
}

TEST(MappedFile, KeepsItsAddressWhenMoved) {
  const TemporaryFolder folder;
  MappedFile first = MappedFile::open(folder.write("a", "first"));
  const std::byte* const address = first.bytes().data();
  MappedFile second(std::move(first));
  EXPECT_EQ(second.bytes().data(), address);

  MappedFile third = MappedFile::open(folder.write("b", "third"));
  third = std::move(second);
  EXPECT_EQ(third.bytes().data(), address);
  EXPECT_EQ(as_text(third.bytes()), "first");
}

TEST(MappedFile, OutlivesTheNameOfTheFile) {
  const TemporaryFolder folder;
  const MappedFile file = MappedFile::open(folder.write("a", "still here"));
  std::filesystem::remove(folder.path() / "a");
  EXPECT_EQ(as_text(file.bytes()), "still here");
}

TEST(MappedFile, ReportsAFileThatIsNotThere) {
  const TemporaryFolder folder;
  EXPECT_ERROR(MappedFile::open(folder.path() / "missing"), ErrorKind::kIo, "missing: cannot open: No such file");
}

TEST(MappedFile, RefusesAFolder) {
  const TemporaryFolder folder;
  EXPECT_ERROR(MappedFile::open(folder.path()), ErrorKind::kIo, "is a folder, expected a file");
}

TEST(MappedFile, RefusesANamedPipeWithoutWaitingForAWriter) {
  const TemporaryFolder folder;
  const std::filesystem::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_ERROR(MappedFile::open(pipe), ErrorKind::kIo, "is not a regular file");
}

TEST(MappedFile, RefusesADevice) {
  EXPECT_ERROR(MappedFile::open("/dev/zero"), ErrorKind::kIo, "is not a regular file");
}

TEST(ReleasePages, LeavesTheBytesReadable) {
  const test::TemporaryFolder folder;
  std::string text(100'000, 'x');
  text[50'000] = 'y';
  const MappedFile file = MappedFile::open(folder.write("file", text));
  release_pages(file.bytes().subspan(1, 99'000));
  release_pages(file.bytes().subspan(7, 3));
  release_pages({});
  EXPECT_EQ(static_cast<char>(file.bytes()[50'000]), 'y');
  EXPECT_EQ(static_cast<char>(file.bytes()[99'999]), 'x');
}

}  // namespace
}  // namespace headscope
