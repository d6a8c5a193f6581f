#include "headscope/io/zip_writer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "headscope/io/byte_reader.h"
#include "headscope/io/zip.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

using test::TemporaryFolder;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ZipWriter, WritesWhatZipFileReads) {
  const TemporaryFolder folder;
  ZipWriter writer(folder.path() / "a.zip");
  writer.add("one", {bytes_of("first "), bytes_of(""), bytes_of("entry")});
  writer.add("folder/two", {});
  writer.commit();
  const ZipFile zip = ZipFile::open(folder.path() / "a.zip");
  ASSERT_EQ(zip.entries().size(), 2U);
  EXPECT_EQ(as_text(zip.stored_bytes(*zip.find("one"))), "first entry");
  EXPECT_EQ(as_text(zip.stored_bytes(*zip.find("folder/two"))), "");
}

TEST(ZipWriter, AlignsTheBytesOfEveryEntryWhateverItsNameAndSize) {
  const TemporaryFolder folder;
  ZipWriter writer(folder.path() / "a.zip");
  for (std::size_t i = 1; i < 140; ++i) writer.add(std::string(i, 'n'), {bytes_of(std::string(3 * i, 'x'))});
  writer.commit();
  const ZipFile zip = ZipFile::open(folder.path() / "a.zip");
  ASSERT_EQ(zip.entries().size(), 139U);
  for (const ZipEntry& entry : zip.entries()) {
    // The map begins at a page, so an aligned address is an aligned offset.
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(entry.compressed.data()) % 64, 0U) << entry.name.size();
    EXPECT_EQ(zip.stored_bytes(entry).size(), 3 * entry.name.size());
  }
}

TEST(ZipWriter, GivesTheSameFileForTheSameEntries) {
  const TemporaryFolder folder;
  for (const char* name : {"a.zip", "b.zip"}) {
    ZipWriter writer(folder.path() / name);
    writer.add("one", {bytes_of("first")});
    writer.commit();
  }
  EXPECT_EQ(contents(folder.path() / "a.zip"), contents(folder.path() / "b.zip"));
}

TEST(ZipWriter, WritesMoreEntriesThan16BitsCount) {
  const TemporaryFolder folder;
  for (const std::size_t count : {std::size_t{65534}, std::size_t{65535}, std::size_t{65537}}) {
    ZipWriter writer(folder.path() / "a.zip");
    for (std::size_t i = 0; i < count; ++i) writer.add(std::to_string(i), {});
    writer.commit();
    const ZipFile zip = ZipFile::open(folder.path() / "a.zip");
    EXPECT_EQ(zip.entries().size(), count);
    EXPECT_EQ(zip.entries().back().name, std::to_string(count - 1));
  }
}

TEST(ZipWriter, LeavesNothingBehindWithoutACommit) {
  const TemporaryFolder folder;
  {
    ZipWriter writer(folder.path() / "a.zip");
    writer.add("one", {bytes_of("first")});
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(ZipWriter, RefusesNamesItCannotWrite) {
  const TemporaryFolder folder;
  ZipWriter writer(folder.path() / "a.zip");
  writer.add("one\n", {});
  EXPECT_ERROR(writer.add("one\n", {}), ErrorKind::kInvalidArgument, "entry 'one\\x0a' is a duplicate");
  EXPECT_ERROR(writer.add("", {}), ErrorKind::kInvalidArgument, "needs a name of 1 to 65535 bytes");
  EXPECT_ERROR(writer.add(std::string(65536, 'n'), {}), ErrorKind::kInvalidArgument, "needs a name");
}

}  // namespace
}  // namespace headscope
