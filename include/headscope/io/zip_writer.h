#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headscope/io/atomic_file.h"

namespace headscope {

/// Writes a zip archive of stored (uncompressed) entries, completely or not at all (see `AtomicFile`). The data of each
/// entry starts at a multiple of 64 in the file, so that arrays can be mapped. The same entries produce the same file:
/// all timestamps are 1980-01-01.
///
/// Entries and archives beyond 4 GiB or 65534 entries use the 64-bit records that Python's zipfile reads.
class ZipWriter {
 public:
  /// \throws Error  as `AtomicFile`.
  explicit ZipWriter(std::filesystem::path path);
  /// Writes to a file that is open and still empty.
  explicit ZipWriter(AtomicFile file) : file_(std::move(file)) {}

  /// Appends an entry consisting of the concatenated pieces.
  ///
  /// \throws Error  kInvalidArgument if the name is empty, longer than 65535 bytes or already used; kResource or kIo as
  ///                `AtomicFile::write`.
  void add(std::string_view name, std::initializer_list<std::span<const std::byte>> pieces);

  /// Writes the directory and commits: the file appears now.
  void commit();
  /// Writes the directory and returns the file, complete but not committed. Nothing can be added afterwards.
  [[nodiscard]] AtomicFile finish();

 private:
  struct Entry {
    std::string name;
    std::uint32_t crc;
    std::uint64_t size;
    std::uint64_t offset;  ///< Offset of the local header.
  };

  AtomicFile file_;
  std::uint64_t position_ = 0;
  std::vector<Entry> entries_;
  std::set<std::string, std::less<>> names_;
};

}  // namespace headscope
