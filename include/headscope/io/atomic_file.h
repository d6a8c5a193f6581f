#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace headscope {

/// A file that appears whole or not at all: it is written under a temporary
/// name in the same folder and renamed by `commit`. Destroyed without a commit,
/// it leaves nothing behind.
class AtomicFile {
 public:
  /// \throws Error  kIo if the folder cannot be written to, kResource if its disk is
  ///                full, kInvalidArgument if `path` ends in a slash.
  explicit AtomicFile(std::filesystem::path path);
  /// One that never reaches a disk: what is written goes to `memory`. `path` is what messages call it.
  AtomicFile(std::filesystem::path path, std::shared_ptr<std::vector<std::byte>> memory);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  /// The name the file will have.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  /// After an error the file is given up: later writes and the commit fail too.
  /// \throws Error  kResource if the disk is full, else kIo.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);

  /// Closes the file, so that any number of them can be under way at once: `write` is over, `write_at` and `commit`
  /// open it again for themselves.
  void release() noexcept;

  /// Writes at a place of its own, whatever `write` has reached; the file grows as needed, with zeros between. Several
  /// threads may do so at once; in memory, within what was written before.
  /// \throws Error  as `write`; the file is given up when it is destroyed.
  void write_at(std::size_t offset, std::span<const std::byte> bytes);

  /// Flushes to the disk and gives the file its name, replacing what had it.
  /// \throws Error  as `write`.
  void commit();

 private:
  [[noreturn]] void fail(const char* what, int error);
  void write_memory(std::size_t offset, std::span<const std::byte> bytes);
  void discard() noexcept;

  std::filesystem::path path_;
  std::filesystem::path temporary_;  ///< Empty once there is no such file.
  int descriptor_ = -1;
  std::shared_ptr<std::vector<std::byte>> memory_;  ///< Null for a file on a disk.
};

}  // namespace headscope
