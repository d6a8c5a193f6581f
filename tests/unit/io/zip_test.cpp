#include "headscope/io/zip.h"

#include <gtest/gtest.h>

#include <fstream>
#include <initializer_list>

#include "headscope/io/byte_reader.h"
#include "support/bytes.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

using test::Bytes;
using test::TemporaryFolder;

// CRC-32 bit by bit, as its definition says.
std::uint32_t crc32_by_definition(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

struct Member {
  std::string name;
  std::string raw;  // as it lies in the file
  std::uint16_t method = 0;
  std::string contents = raw;
};

void add_description(Bytes& out, const Member& member) {
  out.add<std::uint16_t>(0).add<std::uint16_t>(member.method).add<std::uint32_t>(0);  // flags, method, time
  out.add<std::uint32_t>(crc32_by_definition(member.contents));
  out.add<std::uint32_t>(static_cast<std::uint32_t>(member.raw.size()));
  out.add<std::uint32_t>(static_cast<std::uint32_t>(member.contents.size()));
  out.add<std::uint16_t>(static_cast<std::uint16_t>(member.name.size()));
}

std::string archive(std::initializer_list<Member> members, std::string_view comment = "") {
  Bytes out;
  Bytes directory;
  for (const Member& member : members) {
    directory.add_text("PK\1\2").add<std::uint16_t>(20).add<std::uint16_t>(20);
    add_description(directory, member);
    directory.add_text(std::string(12, '\0')).add<std::uint32_t>(static_cast<std::uint32_t>(out.str().size()));
    directory.add_text(member.name);
    out.add_text("PK\3\4").add<std::uint16_t>(20);
    add_description(out, member);
    out.add<std::uint16_t>(0).add_text(member.name).add_text(member.raw);
  }
  const std::size_t offset = out.str().size();
  out.add_text(directory.str()).add_text("PK\5\6").add<std::uint32_t>(0);
  out.add<std::uint16_t>(static_cast<std::uint16_t>(members.size()));
  out.add<std::uint16_t>(static_cast<std::uint16_t>(members.size()));
  out.add<std::uint32_t>(static_cast<std::uint32_t>(directory.str().size()));
  out.add<std::uint32_t>(static_cast<std::uint32_t>(offset));
  out.add<std::uint16_t>(static_cast<std::uint16_t>(comment.size())).add_text(comment);
  return out.str();
}

// "hello" as deflate writes it without compressing: one last block of 5 literal bytes.
const std::string kHelloDeflated("\x01\x05\x00\xFA\xFFhello", 10);

TEST(ZipFile, ReadsStoredEntriesInPlace) {
  const TemporaryFolder folder;
  const ZipFile zip = ZipFile::open(folder.write("a.zip", archive({{"one", "first"}, {"two", ""}})));
  ASSERT_EQ(zip.entries().size(), 2U);
  EXPECT_EQ(zip.entries()[0].name, "one");
  EXPECT_EQ(zip.entries()[0].size, 5U);
  EXPECT_FALSE(zip.entries()[0].deflated);
  EXPECT_EQ(as_text(zip.stored_bytes(zip.entries()[0])), "first");
  EXPECT_EQ(as_text(zip.stored_bytes(*zip.find("two"))), "");
  EXPECT_EQ(zip.find("three"), nullptr);
}

TEST(ZipFile, InflatesDeflatedEntries) {
  const TemporaryFolder folder;
  const std::string nothing("\x01\x00\x00\xFF\xFF", 5);
  const ZipFile zip =
      ZipFile::open(folder.write("a.zip", archive({{"a", kHelloDeflated, 8, "hello"}, {"b", nothing, 8, ""}})));
  EXPECT_EQ(as_text(zip.inflate(zip.entries()[0])), "hello");
  EXPECT_EQ(as_text(zip.inflate(zip.entries()[1])), "");
  EXPECT_ERROR(zip.stored_bytes(zip.entries()[0]), ErrorKind::kInvalidArgument, "is deflated");
}

TEST(ZipFile, OpensAnArchiveWithoutEntriesAndOneWithAComment) {
  const TemporaryFolder folder;
  EXPECT_TRUE(ZipFile::open(folder.write("a.zip", archive({}))).entries().empty());
  const std::string comment = "PK\5\6 in a comment is no end record";
  EXPECT_EQ(ZipFile::open(folder.write("b.zip", archive({{"a", "x"}}, comment))).entries().size(), 1U);
}

TEST(ZipFile, ReportsDataThatDiffersFromItsChecksum) {
  const TemporaryFolder folder;
  std::string stored = archive({{"a", "hello"}});
  stored[31] = 'j';
  const ZipFile zip = ZipFile::open(folder.write("a.zip", stored));
  EXPECT_ERROR(zip.stored_bytes(zip.entries()[0]), ErrorKind::kFormat, "entry 'a' has CRC-32 ");

  std::string deflated = archive({{"a", kHelloDeflated, 8, "hello"}});
  deflated[36] = 'j';
  const ZipFile other = ZipFile::open(folder.write("b.zip", deflated));
  EXPECT_ERROR(other.inflate(other.entries()[0]), ErrorKind::kFormat, "expected 3610a686: the file is damaged");
}

TEST(ZipFile, ReportsDeflatedDataThatIsNotWhatTheEntryDeclares) {
  const TemporaryFolder folder;
  for (const Member& member : {
           Member{"short", kHelloDeflated, 8, "hello!"},                             // fewer bytes than declared
           Member{"long", kHelloDeflated, 8, "hell"},                                // more
           Member{"cut", kHelloDeflated.substr(0, 8), 8, "hello"},                   // ends early
           Member{"tail", kHelloDeflated + "x", 8, "hello"},                         // goes on after its end
           Member{"bad", std::string("\x07\x05\x00\xFA\xFFhello", 10), 8, "hello"},  // block type 3 does not exist
       }) {
    SCOPED_TRACE(member.name);
    const ZipFile zip = ZipFile::open(folder.write("a.zip", archive({member})));
    EXPECT_ERROR(zip.inflate(zip.entries()[0]), ErrorKind::kFormat, "' does not inflate to the ");
  }
}

TEST(ZipFile, RefusesToInflateToMoreThanAHundredTimesTheSize) {
  const TemporaryFolder folder;
  const Member bomb{"bomb", kHelloDeflated, 8, std::string(1001, 'x')};
  const ZipFile zip = ZipFile::open(folder.write("a.zip", archive({bomb})));
  EXPECT_ERROR(zip.inflate(zip.entries()[0]), ErrorKind::kUnsupported, "save it uncompressed, with np.savez");
  const Member limit{"limit", kHelloDeflated, 8, std::string(1000, 'x')};
  const ZipFile allowed = ZipFile::open(folder.write("b.zip", archive({limit})));
  EXPECT_ERROR(allowed.inflate(allowed.entries()[0]), ErrorKind::kFormat, "does not inflate");
}

// archive({{"a", "hello"}}): where its records begin.
constexpr std::size_t kLocal = 0;
constexpr std::size_t kCentral = 36;
constexpr std::size_t kEnd = 83;

struct Change {
  const char* what;
  std::size_t offset;
  std::string bytes;
  ErrorKind kind;
  const char* message;
};

TEST(ZipFile, SaysWhatIsWrongWithABrokenArchive) {
  const auto format = ErrorKind::kFormat;
  const auto unsupported = ErrorKind::kUnsupported;
  const std::string max4(4, '\xFF');
  const std::vector<Change> changes = {
      {"end record gone", kEnd, "XX", format, "not a zip archive, or truncated"},
      {"comment longer than the file", kEnd + 20, "\1", format, "not a zip archive, or truncated"},
      {"second disk", kEnd + 4, "\1", unsupported, "split zip archive"},
      {"directory on another disk", kEnd + 6, "\1", unsupported, "split zip archive"},
      {"fewer entries on this disk", kEnd + 8, std::string(1, '\0'), unsupported, "split zip archive"},
      {"two entries declared", kEnd + 8, std::string("\2\0\2\0", 4), format, "has 1 entries, its end record says 2"},
      {"directory shorter", kEnd + 12, "\x2E", format,
       "46 bytes at byte 36 according to the end record, expected it to end at byte 83"},
      {"directory beyond the file", kEnd + 12, max4, format, "4294967295 bytes at byte 36"},
      {"directory elsewhere", kEnd + 16, "\x23", format,
       "at byte 35 according to the end record, expected it to end at byte 83"},
      {"directory at 4 GiB without 64-bit records", kEnd + 16, max4, format, "at byte 4294967295"},
      {"central signature", kCentral, "QK", format, "no directory entry at byte 36"},
      {"encrypted", kCentral + 8, "\1", unsupported, "entry 'a': is encrypted"},
      {"encrypted, says the local header", kLocal + 6, "\1", unsupported, "entry 'a': is encrypted"},
      {"strongly encrypted", kCentral + 8, "\x41", unsupported, "entry 'a': is encrypted"},
      {"lzma", kCentral + 10, "\x0E", unsupported, "compressed by method 14, expected 0 (stored) or 8 (deflate)"},
      {"methods differ", kLocal + 8, "\x08", format, "has another method"},
      {"checksums differ", kLocal + 14, "\x01", format, "has another method, checksum or size"},
      {"local compressed size differs", kLocal + 18, "\x06", format, "has another method, checksum or size"},
      {"local size differs", kLocal + 22, "\x06", format, "has another method, checksum or size"},
      {"local size without its 64-bit field", kLocal + 22, max4, format, "64-bit extra field"},
      {"stored, but sizes differ", kCentral + 24, "\x04", format, "is stored, but declares 5 compressed bytes for 4"},
      {"size without its 64-bit field", kCentral + 24, max4, format, "64-bit extra field"},
      {"name longer than the directory", kCentral + 28, "\xFF", format, "directory entry at byte"},
      {"extra field longer than the directory", kCentral + 30, "\xFF", format, "directory entry at byte"},
      {"comment longer than the directory", kCentral + 32, "\xFF", format, "directory entry at byte"},
      {"entry on another disk", kCentral + 34, "\1", unsupported, "another part of a split archive"},
      {"local header elsewhere", kCentral + 42, "\1", format, "no local header at byte 1"},
      {"local header beyond the directory", kCentral + 42, "\x40", format, "begins at byte 64"},
      {"names differ", kLocal + 30, "\n", format, "has the name '\\x0a' in its local header"},
      {"local name longer than the data", kLocal + 26, "\x10", format, "local header at byte 30 needs 16 bytes"},
      {"local extra field runs into the data", kLocal + 28, "\x01", format, "data at byte 32 needs 5 bytes"},
  };
  const TemporaryFolder folder;
  const std::string good = archive({{"a", "hello"}});
  ASSERT_EQ(good.size(), kEnd + 22);
  for (const Change& change : changes) {
    SCOPED_TRACE(change.what);
    std::string broken = good;
    broken.replace(change.offset, change.bytes.size(), change.bytes);
    EXPECT_ERROR(ZipFile::open(folder.write("a.zip", broken)), change.kind, change.message);
  }
}

TEST(ZipFile, RefusesEntriesThatOverlapOrShareAName) {
  const TemporaryFolder folder;
  const std::string two = archive({{"a", "hello"}, {"a", "world"}});
  EXPECT_ERROR(ZipFile::open(folder.write("a.zip", two)), ErrorKind::kFormat, "duplicate entry 'a'");
  // The second directory entry points at the first one's local header: the way zip bombs share their data.
  std::string shared = archive({{"a", "hello"}, {"a", "hello"}});
  shared.replace(72 + 47 + 42, 1, 1, '\0');
  EXPECT_ERROR(ZipFile::open(folder.write("b.zip", shared)), ErrorKind::kFormat, "entries 'a' and 'a' overlap");
}

TEST(ZipFile, RefusesAnExtraFieldThatIsLongerThanTheSpaceForIt) {
  const TemporaryFolder folder;
  std::string broken = archive({{"a", std::string("\1\0\xFF\xFFhello", 9)}});
  broken.replace(kLocal + 28, 1, "\4");  // the data's first four bytes become an extra field
  EXPECT_ERROR(ZipFile::open(folder.write("a.zip", broken)), ErrorKind::kFormat,
               "extra field at byte 4 needs 65535 bytes");
}

// A 64-bit archive: `big` is a hole of 5 GiB, so that `small` lies beyond what 32 bits reach.
// Returns the offset of its 64-bit end record.
std::uint64_t write_large_archive(const std::filesystem::path& path) {
  constexpr std::uint64_t kHole = 5ULL << 30;
  Bytes big;
  big.add_text("PK\3\4").add<std::uint16_t>(45).add<std::uint32_t>(0).add<std::uint32_t>(0).add<std::uint32_t>(7);
  big.add<std::uint32_t>(0xFFFFFFFF).add<std::uint32_t>(0xFFFFFFFF).add<std::uint16_t>(3).add<std::uint16_t>(20);
  big.add_text("big").add<std::uint16_t>(1).add<std::uint16_t>(16).add<std::uint64_t>(kHole).add<std::uint64_t>(kHole);
  const std::uint64_t small_offset = big.str().size() + kHole;
  const Member member{"small", "hello"};
  Bytes tail;
  tail.add_text("PK\3\4").add<std::uint16_t>(20);
  add_description(tail, member);
  tail.add<std::uint16_t>(0).add_text("smallhello");
  const std::uint64_t directory = small_offset + tail.str().size();
  tail.add_text("PK\1\2").add<std::uint32_t>(45).add<std::uint32_t>(0).add<std::uint32_t>(0).add<std::uint32_t>(7);
  tail.add<std::uint32_t>(0xFFFFFFFF).add<std::uint32_t>(0xFFFFFFFF).add<std::uint16_t>(3).add<std::uint16_t>(20);
  tail.add_text(std::string(10, '\0')).add<std::uint32_t>(0).add_text("big");
  tail.add<std::uint16_t>(1).add<std::uint16_t>(16).add<std::uint64_t>(kHole).add<std::uint64_t>(kHole);
  tail.add_text("PK\1\2").add<std::uint32_t>(20);
  add_description(tail, member);
  tail.add<std::uint16_t>(12).add_text(std::string(10, '\0')).add<std::uint32_t>(0xFFFFFFFF).add_text("small");
  tail.add<std::uint16_t>(1).add<std::uint16_t>(8).add<std::uint64_t>(small_offset);
  const std::uint64_t end = small_offset + tail.str().size();
  tail.add_text("PK\6\6").add<std::uint64_t>(44).add<std::uint32_t>(45).add<std::uint64_t>(0).add<std::uint64_t>(2);
  tail.add<std::uint64_t>(2).add<std::uint64_t>(end - directory).add<std::uint64_t>(directory);
  tail.add_text("PK\6\7").add<std::uint32_t>(0).add<std::uint64_t>(end).add<std::uint32_t>(1);
  tail.add_text("PK\5\6").add<std::uint32_t>(0).add<std::uint16_t>(2).add<std::uint16_t>(2);
  tail.add<std::uint32_t>(0xFFFFFFFF).add<std::uint32_t>(0xFFFFFFFF).add<std::uint16_t>(0);

  std::ofstream file(path, std::ios::binary);
  file << big.str();
  file.seekp(static_cast<std::streamoff>(small_offset));
  file << tail.str();
  return end;
}

TEST(ZipFile, ReadsEntriesBeyondFourGigabytes) {
  const TemporaryFolder folder;
  write_large_archive(folder.path() / "a.zip");
  const ZipFile zip = ZipFile::open(folder.path() / "a.zip");
  ASSERT_EQ(zip.entries().size(), 2U);
  EXPECT_EQ(zip.find("big")->size, 5ULL << 30);
  EXPECT_EQ(as_text(zip.stored_bytes(*zip.find("small"))), "hello");
}

TEST(ZipFile, SaysWhatIsWrongWithBroken64BitRecords) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "a.zip";
  const std::uint64_t end = write_large_archive(path);
  const std::string max8(8, '\xFF');
  const auto format = ErrorKind::kFormat;
  const std::vector<Change> changes = {
      {"signature", 0, "QK", format, "no 64-bit end record at byte"},
      {"record longer than the file", 4, max8, format, "64-bit end record at byte"},
      {"record shorter than it must be", 4, "\x2B", format, "does not end at its locator"},
      {"second disk", 16, "\1", ErrorKind::kUnsupported, "split zip archive"},
      {"entries overflow", 24, max8 + max8, format, "the end record says 2 where the 64-bit end record says"},
      {"directory size overflows", 40, max8, format, "18446744073709551615 bytes at byte"},
      {"directory offset overflows", 48, max8, format, "at byte 18446744073709551615"},
      {"record said to be elsewhere", 56 + 8, max8, format, "begins at byte 18446744073709551615"},
  };
  for (const Change& change : changes) {
    SCOPED_TRACE(change.what);
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    std::string before(change.bytes.size(), '\0');
    file.seekg(static_cast<std::streamoff>(end + change.offset)).read(before.data(), std::ssize(before));
    file.seekp(static_cast<std::streamoff>(end + change.offset)) << change.bytes << std::flush;
    EXPECT_ERROR(ZipFile::open(path), change.kind, change.message);
    file.seekp(static_cast<std::streamoff>(end + change.offset)) << before;
  }
}

}  // namespace
}  // namespace headscope
