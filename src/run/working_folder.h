#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headscope/base/emergency.h"
#include "headscope/io/folder.h"

namespace headscope {

/// What a command changes in a run when it is done.
struct RunSwitch {
  /// File in the working folder, and the member of the run that it becomes. The manifest is the last one.
  std::vector<std::pair<std::string, std::string>> put;
  std::vector<std::string> remove;  ///< Members of the run that the command does not write anymore.
};

/// RUN/.headscope/COMMAND/, where a command writes its files before they appear in the run. One process at a time has
/// it, so that one command at a time writes its results; different commands may run at the same time.
///
/// `commit` makes all files appear together. It first writes a journal of what it is going to do: from then on the new
/// result counts. A process that ends before leaves the old result as it was, and files that the next command removes.
/// A process that ends later leaves the journal, and the next command finishes what it says.
class WorkingFolder {
 public:
  /// \throws Error  kInvalidArgument if another process runs the same command on this run; kIo, kResource.
  WorkingFolder(std::shared_ptr<const Folder> run, std::string command);
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;
  /// Removes the folder with everything in it.
  ~WorkingFolder();

  /// Returns the name of another file in the folder, as a member of the run.
  [[nodiscard]] std::string next_name();

  /// \throws Error  kIo, kResource. The old result is in place again then, or the message says that the next command
  /// completes the change.
  void commit(const RunSwitch& change);

 private:
  [[nodiscard]] bool take();
  void clean() const noexcept;

  std::shared_ptr<const Folder> run_;
  std::string name_;  // ".headscope/relate"
  int lock_ = -1;
  std::size_t count_ = 0;
  std::optional<EmergencyAction> removal_;
};

/// Holds the manifest of a run: one process at a time changes it.
class ManifestLock {
 public:
  explicit ManifestLock(const Folder& run);
  ManifestLock(const ManifestLock&) = delete;
  ManifestLock& operator=(const ManifestLock&) = delete;
  ~ManifestLock();

 private:
  int lock_;
};

/// Whether a name is in the part of a run that holds the working folders.
[[nodiscard]] bool is_working_name(const std::filesystem::path& name) noexcept;

/// Finishes or undoes what commands that ended in the middle of a commit had begun, and removes the working folders of
/// commands that are no longer running. The caller has the manifest lock.
/// \throws Error  kFormat if a journal is damaged; kIo if the folder cannot be changed.
void recover(const Folder& run);

/// Recovers a run that is about to be read, if a commit was interrupted.
/// \throws Error  as `recover`.
void recover_before_reading(const Folder& run);

}  // namespace headscope
