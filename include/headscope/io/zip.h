#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headscope/io/mapped_file.h"

namespace headscope {

/// An entry of a zip archive, as described by the archive's directory.
struct ZipEntry {
  std::string name;
  bool deflated = false;                  ///< If false, stored: `compressed` is the data itself.
  std::uint64_t size = 0;                 ///< Uncompressed size, as declared.
  std::uint32_t crc = 0;                  ///< CRC-32 of the uncompressed bytes, as declared.
  std::span<const std::byte> compressed;  ///< View of the file.
};

/// A memory-mapped zip archive: stored and deflated entries, including 64-bit sizes.
class ZipFile {
 public:
  /// An entry that claims to inflate to more than this many times its compressed size is rejected, so that memory is
  /// bounded by a multiple of the file's real size.
  static constexpr std::uint64_t kMaxRatio = 100;

  /// Reads the directory and checks it against the file: every entry lies inside the file and agrees with its local
  /// header, and no two entries overlap or share a name. Cost: proportional to the directory; the data of the entries
  /// is not touched.
  ///
  /// \throws Error  kIo if the file cannot be read, kFormat if it is not a zip archive or contradicts itself,
  ///                kUnsupported for encrypted or split archives and other compression methods.
  [[nodiscard]] static ZipFile open(const std::filesystem::path& path) { return open(MappedFile::open(path)); }
  [[nodiscard]] static ZipFile open(MappedFile file);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return file_.path(); }
  /// In directory order.
  [[nodiscard]] std::span<const ZipEntry> entries() const noexcept { return entries_; }
  /// Returns the entry with this name, or null.
  [[nodiscard]] const ZipEntry* find(std::string_view name) const noexcept;

  /// Returns a view of the bytes of a stored entry. Reads them once to verify the checksum.
  ///
  /// \throws Error  kFormat if the checksum differs, kInvalidArgument if the entry is deflated.
  [[nodiscard]] std::span<const std::byte> stored_bytes(const ZipEntry& entry) const;

  /// Returns the inflated bytes of a deflated entry.
  ///
  /// \throws Error  kFormat if they do not inflate to exactly what the entry declares, kUnsupported beyond
  ///                `kMaxRatio`, kInvalidArgument if the entry is stored.
  [[nodiscard]] std::vector<std::byte> inflate(const ZipEntry& entry) const;

 private:
  ZipFile(MappedFile file, std::vector<ZipEntry> entries) : file_(std::move(file)), entries_(std::move(entries)) {}

  MappedFile file_;
  std::vector<ZipEntry> entries_;
};

}  // namespace headscope
