#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "headscope/io/mapped_file.h"

namespace headscope {

/// A directory that is open, and its members. Whatever the directory contains, members are read, written and removed
/// beneath it only: a name with "..", and a link that leads out of it, is an error. Writing and removing never follow a
/// link. The path of the folder itself may contain links: it is the choice of whoever names it.
///
/// Names of members are relative to the folder, e.g. "affinity/pk_OQ.npy".
class Folder {
 public:
  /// \throws Error  kIo if there is no such directory or it cannot be read.
  [[nodiscard]] static Folder open(const std::filesystem::path& path);

  Folder(Folder&& other) noexcept;
  Folder& operator=(Folder&&) = delete;
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

  /// Whether there is a member of this name. A link counts, wherever it leads.
  /// \throws Error  kIo if the system cannot tell, e.g. because too many files are open.
  [[nodiscard]] bool has(const std::filesystem::path& name) const;
  /// The same without exceptions. Returns 0 if there is one, otherwise the value of `errno`; see `is_absent`.
  [[nodiscard]] int find(const std::filesystem::path& name) const noexcept;
  /// Maps a file. Links that stay beneath the folder are followed where the system can do so safely.
  /// \throws Error  kIo as `MappedFile::open`, and if the name leads out of the folder.
  [[nodiscard]] MappedFile map(const std::filesystem::path& name) const;
  /// Returns the names in a subfolder ("." for the folder itself), sorted; nothing if there is no such subfolder.
  /// \throws Error  kIo if the subfolder cannot be read.
  [[nodiscard]] std::vector<std::string> list(const std::filesystem::path& name) const;

  /// Opens a file for writing and creates it if needed. `flags` are those of open(2), such as O_EXCL. Returns the
  /// descriptor, which the caller closes, or -1 with `errno` set.
  [[nodiscard]] int open_for_writing(const std::filesystem::path& name, int flags) const noexcept;
  /// Creates the directories of `name`, all but its last part if `parents_only` is set. Returns those that were
  /// missing, outermost first. \throws Error  kIo, kResource (disk full).
  std::vector<std::filesystem::path> make_folders(const std::filesystem::path& name, bool parents_only) const;
  /// Renames a file, replacing any file of the new name. Returns 0, or the value of `errno`.
  [[nodiscard]] int rename(const std::filesystem::path& from, const std::filesystem::path& to) const noexcept;
  /// Gives a file a second name. Returns 0, or the value of `errno`.
  [[nodiscard]] int link(const std::filesystem::path& from, const std::filesystem::path& to) const noexcept;
  /// Removes a file, a link or an empty directory. Returns 0, or the value of `errno`.
  int remove(const std::filesystem::path& name) const noexcept;
  /// Removes an empty directory. Returns 0, or the value of `errno`.
  int remove_folder(const std::filesystem::path& name) const noexcept;
  /// Removes a member and everything in it, without following links. Errors are ignored: what cannot be removed stays.
  void remove_all(const std::filesystem::path& name) const noexcept;
  /// Flushes the entries of a directory to disk, so that a rename in it survives a crash of the system. Returns 0, also
  /// on file systems that cannot do this, or the value of `errno`.
  [[nodiscard]] int sync(const std::filesystem::path& name) const noexcept;
  /// Flushes everything in the folder, and whatever else is in its file system.
  /// \throws Error  kIo, kResource (disk full).
  void sync_all() const;

 private:
  Folder(std::filesystem::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::filesystem::path path_;
  int descriptor_;
};

/// Whether the value of `errno` means that there is no member of a name: nothing, or what leads out of the folder.
[[nodiscard]] bool is_absent(int error) noexcept;

/// Whether a name that was read from a file may be a member of a folder: relative, without "." and "..".
[[nodiscard]] bool is_member_name(const std::filesystem::path& name) noexcept;

}  // namespace headscope
