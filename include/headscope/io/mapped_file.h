#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>

namespace headscope {

/// A file mapped read-only into memory. Opening costs the same for a kilobyte and for a terabyte: pages are read when
/// they are accessed.
///
/// The file must not shrink while it is mapped: accessing a page that is gone ends the process with SIGBUS, as for any
/// memory map.
class MappedFile {
 public:
  /// \throws Error  kIo if `path` does not exist, is not a regular file or
  ///                cannot be read.
  [[nodiscard]] static MappedFile open(const std::filesystem::path& path);

  /// Maps a file that is open for reading, and closes the descriptor. `path` is used in messages.
  [[nodiscard]] static MappedFile map(int descriptor, const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  /// Remains valid, at the same address, when this object is moved.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  MappedFile(std::filesystem::path path, std::span<const std::byte> bytes);

  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

/// Returns the file whose map contains an address; nothing if there is none.
[[nodiscard]] std::optional<std::filesystem::path> mapped_file_at(const void* address);

/// Hints that part of a map is not needed for now: its pages no longer count as memory of this process. When accessed
/// again, they are reloaded from the page cache or the disk.
void release_pages(std::span<const std::byte> mapped) noexcept;

}  // namespace headscope
