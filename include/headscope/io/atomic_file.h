#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/base/emergency.h"
#include "headscope/io/folder.h"

namespace headscope {

/// A file that appears complete or not at all: it is written under a temporary name in the same folder and renamed by
/// `commit`. If it is destroyed without a commit, nothing is left behind.
class AtomicFile {
 public:
  /// A link is followed: the file that it leads to is replaced, not the link. A device or a pipe is written to
  /// directly, as by any other program: what was written is not taken back. \throws Error  kIo if the folder cannot be
  /// written to, kResource if its disk is
  ///                full, kInvalidArgument if `path` ends in a slash.
  explicit AtomicFile(std::filesystem::path path);
  /// A member of a folder that is written under the name `temporary`, to be renamed by whoever chose that name. There
  /// is no `commit`: `flush` completes the file, and `keep` gives it away. `path` is used in messages. \throws Error
  /// kIo, kResource.
  AtomicFile(std::shared_ptr<const Folder> folder, std::string temporary, std::filesystem::path path);
  /// A file in memory, never on disk: everything written goes to `memory`. `path` is used in messages only.
  AtomicFile(std::filesystem::path path, std::shared_ptr<std::vector<std::byte>> memory);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  /// The final path of the file.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  /// The name under which the file is written; empty if it is not on disk.
  [[nodiscard]] const std::filesystem::path& temporary() const noexcept { return temporary_; }

  /// After an error the file is discarded: later writes and the commit also fail.
  /// \throws Error  kResource if the disk is full, else kIo.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);

  /// Closes the file, so that any number of files can be in progress at once. `write` can no longer be used; `write_at`
  /// and `commit` reopen the file themselves.
  /// An error, which a network file system may report only here, is thrown by `flush`.
  void release() noexcept;

  /// Writes at `offset`, independently of `write`; the file grows as needed, with zeros in the gaps. Thread-safe; for a
  /// file in memory, only within what was written before.
  /// \throws Error  as `write`; the temporary file is removed when this object is destroyed.
  void write_at(std::size_t offset, std::span<const std::byte> bytes);

  /// Flushes the file to disk and closes it.
  /// \throws Error  as `write`; also if an earlier write failed.
  void flush() { close(/*to_disk=*/true); }
  /// Closes the file. Unless `to_disk` is set, the caller flushes the file system. \throws Error  as `flush`.
  void close(bool to_disk);
  /// Leaves the temporary file where it is: it is no longer removed on destruction.
  void keep() noexcept { temporary_.clear(); }

  /// Flushes the file to disk and renames it to its final path, replacing any existing file.
  /// \throws Error  as `write`.
  void commit();

 private:
  [[noreturn]] void fail(const char* what, int error);
  [[nodiscard]] int open_temporary(int flags) const noexcept;
  void write_memory(std::size_t offset, std::span<const std::byte> bytes);
  void discard() noexcept;

  std::filesystem::path path_;
  std::filesystem::path target_;          ///< What `commit` replaces: `path_` with links resolved.
  std::filesystem::path temporary_;       ///< Empty if there is no temporary file.
  std::shared_ptr<const Folder> folder_;  ///< If set, `temporary_` is a member of it.
  int descriptor_ = -1;
  std::shared_ptr<EmergencyAction> removal_;        ///< Removes a temporary file that is not in `folder_`.
  bool direct_ = false;                             ///< Written to a device or a pipe.
  std::atomic<int> failure_ = 0;                    ///< The errno of a write that failed: the file is incomplete.
  std::shared_ptr<std::vector<std::byte>> memory_;  ///< Null for a file on disk.
};

}  // namespace headscope
