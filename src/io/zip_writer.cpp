#include "headscope/io/zip_writer.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cstring>
#include <type_traits>
#include <utility>

#include "headscope/base/error.h"
#include "io/zip_format.h"

namespace headscope {
namespace {

constexpr std::uint64_t kAlignment = 64;
constexpr std::uint16_t kVersion = 20;    // format version with folders and deflate
constexpr std::uint16_t kVersion64 = 45;  // format version with 64-bit records
constexpr std::uint16_t kMadeOnUnix = 3 << 8;
constexpr std::uint32_t kRegularFile0644 = 0100644U << 16;
constexpr std::uint16_t kMidnight = 0;
constexpr std::uint16_t kFirstOfJanuary1980 = (1 << 5) | 1;

template <typename T>
void append(std::string& out, std::type_identity_t<T> value) {
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  out.append(raw, sizeof(T));
}

std::uint32_t field32(std::uint64_t value) {
  return value >= zip::kIn64Bits ? zip::kIn64Bits : static_cast<std::uint32_t>(value);
}

std::uint16_t field16(std::uint64_t value) {
  return value >= zip::kIn64BitsShort ? zip::kIn64BitsShort : static_cast<std::uint16_t>(value);
}

// The 64-bit extra field with the values that do not fit their own field; empty if there are none.
std::string zip64_extra(std::initializer_list<std::uint64_t> values) {
  std::string large;
  for (const std::uint64_t value : values) {
    if (value >= zip::kIn64Bits) append<std::uint64_t>(large, value);
  }
  if (large.empty()) return large;
  std::string extra;
  append<std::uint16_t>(extra, zip::kZip64Extra);
  append<std::uint16_t>(extra, static_cast<std::uint16_t>(large.size()));
  return extra + large;
}

// Appends the fields that local and central header share, from the flags to the name's length.
void append_common(std::string& out, std::uint32_t crc, std::uint64_t size, std::size_t name_length) {
  append<std::uint16_t>(out, zip::kFlagUtf8Name);
  append<std::uint16_t>(out, zip::kStored);
  append<std::uint16_t>(out, kMidnight);
  append<std::uint16_t>(out, kFirstOfJanuary1980);
  append<std::uint32_t>(out, crc);
  append<std::uint32_t>(out, field32(size));  // compressed
  append<std::uint32_t>(out, field32(size));  // uncompressed
  append<std::uint16_t>(out, static_cast<std::uint16_t>(name_length));
}

// Returns a local header that starts at `offset` and ends at a multiple of kAlignment.
std::string local_header(std::string_view name, std::uint32_t crc, std::uint64_t size, std::uint64_t offset) {
  // In a local header, either both sizes are in the 64-bit record or neither is; here they are equal.
  std::string extra = zip64_extra({size, size});
  constexpr std::uint64_t kPaddingHeader = 6;  // id, length, alignment
  const std::uint64_t unpadded = offset + zip::kLocalHeaderSize + name.size() + extra.size() + kPaddingHeader;
  const std::uint64_t padding = (kAlignment - unpadded % kAlignment) % kAlignment;

  std::string out;
  append<std::uint32_t>(out, zip::kLocalHeader);
  append<std::uint16_t>(out, extra.empty() ? kVersion : kVersion64);
  append_common(out, crc, size, name.size());
  append<std::uint16_t>(out, static_cast<std::uint16_t>(extra.size() + kPaddingHeader + padding));
  out += name;
  out += extra;
  append<std::uint16_t>(out, zip::kAlignmentExtra);
  append<std::uint16_t>(out, static_cast<std::uint16_t>(2 + padding));
  append<std::uint16_t>(out, static_cast<std::uint16_t>(kAlignment));
  out.append(static_cast<std::size_t>(padding), '\0');
  return out;
}

std::string central_header(std::string_view name, std::uint32_t crc, std::uint64_t size, std::uint64_t offset) {
  const std::string extra = zip64_extra({size, size, offset});
  const std::uint16_t version = extra.empty() ? kVersion : kVersion64;
  std::string out;
  append<std::uint32_t>(out, zip::kCentralHeader);
  append<std::uint16_t>(out, kMadeOnUnix | version);
  append<std::uint16_t>(out, version);
  append_common(out, crc, size, name.size());
  append<std::uint16_t>(out, static_cast<std::uint16_t>(extra.size()));
  append<std::uint16_t>(out, 0);  // comment length
  append<std::uint16_t>(out, 0);  // disk
  append<std::uint16_t>(out, 0);  // internal attributes
  append<std::uint32_t>(out, kRegularFile0644);
  append<std::uint32_t>(out, field32(offset));
  out += name;
  return out + extra;
}

std::string end_records(std::uint64_t entries, std::uint64_t directory_offset, std::uint64_t directory_size) {
  std::string out;
  if (entries >= zip::kIn64BitsShort || directory_offset >= zip::kIn64Bits || directory_size >= zip::kIn64Bits) {
    append<std::uint32_t>(out, zip::kZip64End);
    append<std::uint64_t>(out, zip::kZip64EndSize - 12);  // excluding the signature and this field
    append<std::uint16_t>(out, kMadeOnUnix | kVersion64);
    append<std::uint16_t>(out, kVersion64);
    append<std::uint32_t>(out, 0);  // this disk
    append<std::uint32_t>(out, 0);  // disk of the directory
    append<std::uint64_t>(out, entries);
    append<std::uint64_t>(out, entries);
    append<std::uint64_t>(out, directory_size);
    append<std::uint64_t>(out, directory_offset);

    append<std::uint32_t>(out, zip::kZip64Locator);
    append<std::uint32_t>(out, 0);
    append<std::uint64_t>(out, directory_offset + directory_size);
    append<std::uint32_t>(out, 1);  // disks
  }
  append<std::uint32_t>(out, zip::kEnd);
  append<std::uint16_t>(out, 0);
  append<std::uint16_t>(out, 0);
  append<std::uint16_t>(out, field16(entries));
  append<std::uint16_t>(out, field16(entries));
  append<std::uint32_t>(out, field32(directory_size));
  append<std::uint32_t>(out, field32(directory_offset));
  append<std::uint16_t>(out, 0);  // comment length
  return out;
}

}  // namespace

ZipWriter::ZipWriter(std::filesystem::path path) : file_(std::move(path)) {}

void ZipWriter::add(std::string_view name, std::initializer_list<std::span<const std::byte>> pieces) {
  const auto refuse = [&](std::string_view why) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: entry '{}' {}", file_.path().string(), printable(name), why));
  };
  if (name.empty() || name.size() > 0xFFFF) refuse("needs a name of 1 to 65535 bytes");
  if (!names_.emplace(name).second) refuse("is a duplicate");

  uLong crc = ::crc32_z(0, nullptr, 0);
  std::uint64_t size = 0;
  for (const std::span<const std::byte> piece : pieces) {
    if (piece.empty()) continue;  // a null pointer would reset the checksum
    crc = ::crc32_z(crc, reinterpret_cast<const Bytef*>(piece.data()), piece.size());
    size += piece.size();
  }
  const Entry entry{std::string(name), static_cast<std::uint32_t>(crc), size, position_};
  const std::string header = local_header(entry.name, entry.crc, entry.size, entry.offset);
  file_.write(header);
  for (const std::span<const std::byte> piece : pieces) file_.write(piece);
  position_ += header.size() + size;
  entries_.push_back(entry);
}

AtomicFile ZipWriter::finish() {
  std::string directory;
  for (const Entry& entry : entries_) directory += central_header(entry.name, entry.crc, entry.size, entry.offset);
  file_.write(directory);
  file_.write(end_records(entries_.size(), position_, directory.size()));
  return std::move(file_);
}

void ZipWriter::commit() {
  finish().commit();
}

}  // namespace headscope
