#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/base/shape.h"
#include "headscope/io/atomic_file.h"
#include "headscope/io/npy.h"

namespace headscope {

/// What a file of a RUN is, for its manifest.
struct RunFile {
  std::string name;   ///< Path inside the folder, e.g. "affinity/pk_OQ.npy".
  std::string kind;   ///< "array", "table", "graph", "tree".
  std::string about;  ///< One sentence.
  Shape shape = {};   ///< Of arrays; rows and columns of tables.
  std::string dtype = {};
  std::vector<std::string> axes = {};
};

/// What a command was asked, for the manifest. Two runs with the same identity give the same files.
struct RunCommand {
  std::string name;                    ///< "relate"
  std::vector<std::string> arguments;  ///< As given, for a person to repeat.
  /// What decides the result: options, model fingerprint, version.
  std::map<std::string, std::string> identity;
  /// What does not: threads, seconds, memory.
  std::map<std::string, std::string> circumstances;
};

/// A file that was kept in memory: what it would be on disk.
struct HeldFile {
  RunFile file;
  std::shared_ptr<const std::vector<std::byte>> bytes;
};

/// What a command wrote, in memory.
struct HeldRun {
  RunCommand command;
  std::vector<HeldFile> files;
};

/// Bytes an element of an array takes on disk.
enum class RunFloat { kF32 = 4, kF16 = 2 };

/// An array of a RUN whose elements are written piece by piece, in any order and from several threads, before the
/// folder's `commit`. The folder must outlive it.
class RunArray {
 public:
  /// Elements as they lie on disk, from element `first` on.
  /// \throws Error  kIo, kResource (disk full).
  void write(std::size_t first, std::span<const float> values) { write_bytes(first, std::as_bytes(values)); }
  void write(std::size_t first, std::span<const unsigned short> halves) { write_bytes(first, std::as_bytes(halves)); }

 private:
  friend class RunFolder;
  RunArray(AtomicFile& file, std::size_t header, std::size_t element)
      : file_(&file), header_(header), element_(element) {}
  void write_bytes(std::size_t first, std::span<const std::byte> bytes) {
    file_->write_at(header_ + first * element_, bytes);
  }

  AtomicFile* file_;
  std::size_t header_;
  std::size_t element_;
};

/// A folder of results that several commands add to, with a manifest of what each
/// file is and which command wrote it.
///
/// Files are written under temporary names and appear together when `commit`
/// is called; destroyed without it, the folder is as it was.
class RunFolder {
 public:
  /// Creates the folder if needed and looks at its manifest.
  ///
  /// \throws Error  kInvalidArgument if the folder holds results of the same command with another
  ///                identity and `force` is false; kFormat if the manifest is
  ///                malformed; kIo if the folder cannot be made.
  RunFolder(std::filesystem::path path, RunCommand command, bool force);
  /// A folder that never reaches a disk: `commit` leaves the files in `held`, which must outlive it. Its path, for
  /// messages, is "memory".
  RunFolder(RunCommand command, HeldRun& held);
  RunFolder(RunFolder&&) = default;
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  ~RunFolder();

  /// \throws Error  kInvalidArgument if another command wrote a file of this name and `force` was
  ///                false; kIo, kResource (disk full).
  void add_text(const RunFile& file, std::string_view text);
  void add_array(const RunFile& file, std::span<const float> values);
  /// An array that is written piece by piece.
  [[nodiscard]] RunArray add_array(const RunFile& file, RunFloat element);
  void add_array(const RunFile& file, std::span<const std::int64_t> values);
  /// A file whose bytes the caller writes before `commit`. The reference holds until then.
  [[nodiscard]] AtomicFile& add_file(const RunFile& file);
  /// Matrices by name, as one npz file of doubles.
  void add_matrices(const RunFile& file, std::span<const std::pair<std::string, const DoubleMatrix*>> matrices);

  /// All files and the manifest appear. What the same command wrote before and did not write now is removed.
  void commit();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// Names in the order they were added.
  [[nodiscard]] std::vector<std::string> files() const;
  [[nodiscard]] std::map<std::string, std::string>& circumstances() noexcept { return command_.circumstances; }

 private:
  void make_folder(const std::filesystem::path& folder, const std::filesystem::path& wanted_by);
  AtomicFile begin_file(const RunFile& file);
  void add_npy(RunFile file, const NpyType& type, std::string_view dtype, std::size_t count,
               std::span<const std::byte> bytes);
  [[nodiscard]] std::string manifest() const;
  [[nodiscard]] std::vector<std::string> stale() const;

  std::filesystem::path path_;
  RunCommand command_;
  bool force_;
  std::vector<std::filesystem::path> made_;                      // folders that were not there before, outer ones first
  std::string previous_;                                         // the manifest as it was; empty if there was none
  std::deque<std::pair<RunFile, AtomicFile>> pending_;           // a deque: RunArrays point to its files
  HeldRun* held_ = nullptr;                                      // where the files go that never reach a disk
  std::vector<std::shared_ptr<std::vector<std::byte>>> memory_;  // of those, in the order of pending_
};

/// Writes what was kept in memory, or read from another folder, to a folder as the command would have.
/// \throws Error  as `RunFolder` and its `add_text`.
void save_run(const HeldRun& held, const std::filesystem::path& path, bool force);

}  // namespace headscope
