#include "io/zip_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "headscope/base/error.h"
#include "headscope/io/byte_reader.h"
#include "io/zip_format.h"

namespace headscope::zip {
namespace {

using Span = std::span<const std::byte>;

[[noreturn]] void fail(ErrorKind kind, std::string_view where, std::string_view what) {
  throw Error(kind, fmt::format("{}: {}", where, what));
}

template <typename T>
T load(Span bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.subspan(offset, sizeof(T)).data(), sizeof(T));
  return value;
}

// Returns a reader of `bytes`, positioned at `offset`.
ByteReader reader_at(Span bytes, std::uint64_t offset, std::string_view what, std::string_view where) {
  if (offset > bytes.size()) {
    fail(ErrorKind::kFormat, where,
         fmt::format("{} begins at byte {} according to the archive, but only {} bytes precede the next record", what,
                     offset, bytes.size()));
  }
  ByteReader reader(bytes, where);
  static_cast<void>(reader.take(offset, what));
  return reader;
}

void expect_signature(ByteReader& reader, std::uint32_t expected, std::string_view what, std::string_view where) {
  const std::size_t position = reader.position();
  if (reader.read<std::uint32_t>(what) != expected) {
    fail(ErrorKind::kFormat, where, fmt::format("no {} at byte {}", what, position));
  }
}

// Location of the directory, from the records at the end of the file.
struct DirectoryPlace {
  std::uint64_t disk;            // disk of the end record
  std::uint64_t directory_disk;  // disk where the directory starts
  std::uint64_t entries_on_disk;
  std::uint64_t entries;
  std::uint64_t size;
  std::uint64_t offset;
};

// Returns the position of the end record: the last one whose comment ends with the file.
std::size_t find_end(Span bytes, std::string_view where) {
  constexpr std::size_t kMaxCommentLength = 0xFFFF;
  if (bytes.size() >= kEndSize) {
    const std::size_t last = bytes.size() - kEndSize;
    const std::size_t first = last > kMaxCommentLength ? last - kMaxCommentLength : 0;
    for (std::size_t at = last + 1; at-- > first;) {
      if (load<std::uint32_t>(bytes, at) == kEnd && load<std::uint16_t>(bytes, at + kEndSize - 2) == last - at) {
        return at;
      }
    }
  }
  fail(ErrorKind::kFormat, where, "not a zip archive, or truncated: it does not end with a zip end record");
}

// Checks that a field of the end record equals that of the 64-bit record, or is the marker that refers to it.
void check_agrees(std::uint64_t field, std::uint64_t in_64_bits, std::uint64_t look_there, std::string_view where) {
  if (field != look_there && field != in_64_bits) {
    fail(ErrorKind::kFormat, where,
         fmt::format("the end record says {} where the 64-bit end record says {}", field, in_64_bits));
  }
}

DirectoryPlace read_zip64_end(Span bytes, std::uint64_t offset, const DirectoryPlace& plain, std::string_view where) {
  ByteReader reader = reader_at(bytes, offset, "64-bit end record", where);
  expect_signature(reader, kZip64End, "64-bit end record", where);
  // The record may contain more than we read, up to the locator that follows it.
  constexpr std::string_view kWhat = "64-bit end record";
  const Span record = reader.take(reader.read<std::uint64_t>(kWhat), kWhat);
  if (reader.remaining() != 0) fail(ErrorKind::kFormat, where, "the 64-bit end record does not end at its locator");
  ByteReader fields(record, where);
  static_cast<void>(fields.take(4, kWhat));  // versions
  DirectoryPlace place{};
  place.disk = fields.read<std::uint32_t>(kWhat);
  place.directory_disk = fields.read<std::uint32_t>(kWhat);
  place.entries_on_disk = fields.read<std::uint64_t>(kWhat);
  place.entries = fields.read<std::uint64_t>(kWhat);
  place.size = fields.read<std::uint64_t>(kWhat);
  place.offset = fields.read<std::uint64_t>(kWhat);
  check_agrees(plain.entries, place.entries, kIn64BitsShort, where);
  check_agrees(plain.size, place.size, kIn64Bits, where);
  check_agrees(plain.offset, place.offset, kIn64Bits, where);
  return place;
}

// Reads the end records. Returns the location of the directory, and shortens `bytes` to end with it.
DirectoryPlace read_end(Span& bytes, std::string_view where) {
  constexpr std::string_view kWhat = "end record";
  const std::size_t end = find_end(bytes, where);
  ByteReader reader = reader_at(bytes, end + 4, kWhat, where);
  DirectoryPlace place{};
  place.disk = reader.read<std::uint16_t>(kWhat);
  place.directory_disk = reader.read<std::uint16_t>(kWhat);
  place.entries_on_disk = reader.read<std::uint16_t>(kWhat);
  place.entries = reader.read<std::uint16_t>(kWhat);
  place.size = reader.read<std::uint32_t>(kWhat);
  place.offset = reader.read<std::uint32_t>(kWhat);
  bytes = bytes.first(end);
  if (end >= kZip64LocatorSize && load<std::uint32_t>(bytes, end - kZip64LocatorSize) == kZip64Locator) {
    const std::size_t locator = end - kZip64LocatorSize;
    const auto record = load<std::uint64_t>(bytes, locator + 8);
    place = read_zip64_end(bytes.first(locator), record, place, where);
    bytes = bytes.first(static_cast<std::size_t>(record));
  }
  if (place.disk != 0 || place.directory_disk != 0 || place.entries_on_disk != place.entries) {
    fail(ErrorKind::kUnsupported, where, "is one part of a split zip archive; join the parts first");
  }
  if (place.size > bytes.size() || place.offset != bytes.size() - place.size) {
    fail(ErrorKind::kFormat, where,
         fmt::format("the directory has {} bytes at byte {} according to the end record, expected it to end at byte {}",
                     place.size, place.offset, bytes.size()));
  }
  return place;
}

// Returns the contents of the 64-bit extra field; empty if there is none.
Span find_zip64_extra(Span extra, std::string_view where) {
  ByteReader reader(extra, where);
  while (reader.remaining() >= 4) {  // fewer bytes are padding, which some writers leave
    const auto id = reader.read<std::uint16_t>("extra field");
    const Span contents = reader.take(reader.read<std::uint16_t>("extra field"), "extra field");
    if (id == kZip64Extra) return contents;
  }
  return {};
}

std::uint64_t widen(std::uint32_t field, ByteReader& zip64) {
  return field == kIn64Bits ? zip64.read<std::uint64_t>("64-bit extra field") : field;
}

// The fields that both headers of an entry contain, from the flags to the sizes.
struct Description {
  std::uint16_t flags;
  std::uint16_t method;
  std::uint32_t crc;
  std::uint32_t compressed;
  std::uint32_t size;
};

Description read_description(ByteReader& reader, std::string_view what) {
  Description d{};
  d.flags = reader.read<std::uint16_t>(what);
  d.method = reader.read<std::uint16_t>(what);
  static_cast<void>(reader.take(4, what));  // time and date
  d.crc = reader.read<std::uint32_t>(what);
  d.compressed = reader.read<std::uint32_t>(what);
  d.size = reader.read<std::uint32_t>(what);
  return d;
}

void check_supported(const Description& d, std::string_view where) {
  if ((d.flags & (kFlagEncrypted | kFlagStrongEncryption | kFlagMaskedHeaders)) != 0) {
    fail(ErrorKind::kUnsupported, where, "is encrypted");
  }
  if (d.method != kStored && d.method != kDeflated) {
    fail(ErrorKind::kUnsupported, where,
         fmt::format("is compressed by method {}, expected 0 (stored) or 8 (deflate)", d.method));
  }
}

// An entry and the range of the file that it occupies, including its local header.
struct Found {
  ZipEntry entry;
  std::uint64_t begin;
  std::uint64_t end;
};

// Reads the local header at `found.begin`; `body` is the file up to the directory.
void read_local(Span body, const Description& central, std::uint64_t compressed, Found& found, std::string_view where) {
  constexpr std::string_view kWhat = "local header";
  ByteReader reader = reader_at(body, found.begin, kWhat, where);
  expect_signature(reader, kLocalHeader, kWhat, where);
  static_cast<void>(reader.take(2, kWhat));  // version
  const Description local = read_description(reader, kWhat);
  const auto name_length = reader.read<std::uint16_t>(kWhat);
  const auto extra_length = reader.read<std::uint16_t>(kWhat);
  const std::string_view name = as_text(reader.take(name_length, kWhat));
  const Span extra = reader.take(extra_length, kWhat);
  check_supported(local, where);
  if (name != found.entry.name) {
    fail(ErrorKind::kFormat, where, fmt::format("has the name '{}' in its local header", printable(name)));
  }
  bool agrees = local.method == central.method;
  if ((local.flags & kFlagSizesFollow) == 0) {
    ByteReader zip64(find_zip64_extra(extra, where), where);
    agrees = agrees && local.crc == central.crc && widen(local.size, zip64) == found.entry.size &&
             widen(local.compressed, zip64) == compressed;
  }
  if (!agrees) {
    fail(ErrorKind::kFormat, where, "has another method, checksum or size in its local header than in the directory");
  }
  found.entry.compressed = reader.take(compressed, "data");
  found.end = reader.position();
}

// Reads the next entry of the directory.
Found read_entry(ByteReader& reader, Span body, std::string_view where) {
  constexpr std::string_view kWhat = "directory entry";
  expect_signature(reader, kCentralHeader, kWhat, where);
  static_cast<void>(reader.take(4, kWhat));  // versions
  const Description central = read_description(reader, kWhat);
  const auto name_length = reader.read<std::uint16_t>(kWhat);
  const auto extra_length = reader.read<std::uint16_t>(kWhat);
  const auto comment_length = reader.read<std::uint16_t>(kWhat);
  const auto disk = reader.read<std::uint16_t>(kWhat);
  static_cast<void>(reader.take(6, kWhat));  // attributes
  const auto offset = reader.read<std::uint32_t>(kWhat);
  const std::string_view name = as_text(reader.take(name_length, kWhat));
  const Span extra = reader.take(extra_length, kWhat);
  static_cast<void>(reader.take(comment_length, kWhat));

  const std::string entry_where = fmt::format("{}: entry '{}'", where, printable(name));
  if (disk != 0 && disk != kIn64BitsShort) {
    fail(ErrorKind::kUnsupported, entry_where, "lies in another part of a split archive");
  }
  check_supported(central, entry_where);
  ByteReader zip64(find_zip64_extra(extra, entry_where), entry_where);
  Found found{};
  found.entry.name = name;
  found.entry.deflated = central.method == kDeflated;
  found.entry.crc = central.crc;
  found.entry.size = widen(central.size, zip64);
  const std::uint64_t compressed = widen(central.compressed, zip64);
  found.begin = widen(offset, zip64);
  if (!found.entry.deflated && compressed != found.entry.size) {
    fail(ErrorKind::kFormat, entry_where,
         fmt::format("is stored, but declares {} compressed bytes for {}", compressed, found.entry.size));
  }
  read_local(body, central, compressed, found, entry_where);
  return found;
}

void check_apart(const std::vector<Found>& found, std::string_view where) {
  std::vector<const Found*> sorted;
  sorted.reserve(found.size());
  for (const Found& f : found) sorted.push_back(&f);
  std::sort(sorted.begin(), sorted.end(), [](const Found* a, const Found* b) { return a->begin < b->begin; });
  const auto overlap = std::adjacent_find(sorted.begin(), sorted.end(),
                                          [](const Found* a, const Found* b) { return b->begin < a->end; });
  if (overlap != sorted.end()) {
    fail(ErrorKind::kFormat, where,
         fmt::format("entries '{}' and '{}' overlap", printable(overlap[0]->entry.name),
                     printable(overlap[1]->entry.name)));
  }
  std::sort(sorted.begin(), sorted.end(), [](const Found* a, const Found* b) { return a->entry.name < b->entry.name; });
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end(),
                                        [](const Found* a, const Found* b) { return a->entry.name == b->entry.name; });
  if (twice != sorted.end()) {
    fail(ErrorKind::kFormat, where, fmt::format("duplicate entry '{}'", printable(twice[0]->entry.name)));
  }
}

}  // namespace

std::vector<ZipEntry> read_directory(std::span<const std::byte> bytes, const std::string& where) {
  const DirectoryPlace place = read_end(bytes, where);
  const Span body = bytes.first(static_cast<std::size_t>(place.offset));
  ByteReader reader = reader_at(bytes, place.offset, "directory", where);
  std::vector<Found> found;
  while (reader.remaining() != 0) found.push_back(read_entry(reader, body, where));
  if (found.size() != place.entries) {
    fail(ErrorKind::kFormat, where,
         fmt::format("the directory has {} entries, its end record says {}", found.size(), place.entries));
  }
  check_apart(found, where);
  std::vector<ZipEntry> entries;
  entries.reserve(found.size());
  for (Found& f : found) entries.push_back(std::move(f.entry));
  return entries;
}

}  // namespace headscope::zip
