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

/// Writes a zip archive of stored (uncompressed) entries, whole or not at all
/// (see `AtomicFile`). Each entry's bytes begin at a multiple of 64 in the file,
/// so that arrays can be mapped. The same entries give the same file: the
/// timestamps are those of 1980-01-01.
///
/// Entries and archives beyond 4 GiB or 65534 entries use the 64-bit records
/// that Python's zipfile reads.
class ZipWriter {
 public:
  /// \throws Error  as `AtomicFile`.
  explicit ZipWriter(std::filesystem::path path);
  /// Into a file that was begun and is still empty.
  explicit ZipWriter(AtomicFile file) : file_(std::move(file)) {}

  /// Appends an entry whose bytes are the pieces one after the other.
  ///
  /// \throws Error  kInvalidArgument if the name is empty, over 65535 bytes or
  ///                taken; kResource or kIo as `AtomicFile::write`.
  void add(std::string_view name, std::initializer_list<std::span<const std::byte>> pieces);

  /// Writes the directory; the file appears now.
  void commit();
  /// Writes the directory and gives the file up, whole but for its own commit. Nothing can be added afterwards.
  [[nodiscard]] AtomicFile finish();

 private:
  struct Entry {
    std::string name;
    std::uint32_t crc;
    std::uint64_t size;
    std::uint64_t offset;  ///< Of the local header.
  };

  AtomicFile file_;
  std::uint64_t position_ = 0;
  std::vector<Entry> entries_;
  std::set<std::string, std::less<>> names_;
};

}  // namespace headscope
