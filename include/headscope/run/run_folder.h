#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headscope/base/emergency.h"
#include "headscope/base/matrix.h"
#include "headscope/base/shape.h"
#include "headscope/io/atomic_file.h"
#include "headscope/io/folder.h"
#include "headscope/io/json.h"
#include "headscope/io/npy.h"
#include "headscope/run/schema.h"
#include "headscope/run/table.h"

namespace headscope {

/// Describes a file of a RUN in its manifest.
struct RunFile {
  std::string name;   ///< Path relative to the folder, e.g. "affinity/pk_OQ.npy".
  std::string kind;   ///< "array", "table", "graph", "tree".
  std::string about;  ///< One sentence.
  Shape shape = {};   ///< Shape of an array; rows and columns of a table.
  std::string dtype = {};
  std::vector<std::string> axes = {};
};

/// Describes a file of the schema in the manifest. `shape` is that of an array, or of a tree the number of elements.
[[nodiscard]] RunFile describe(const FileSchema& file, const Placeholders& placeholders = {}, Shape shape = {});
/// The same for a file that is written once per input, or per input and block.
[[nodiscard]] RunFile describe_input(const FileSchema& file, std::size_t input, Shape shape = {},
                                     std::string_view block = {});

/// Something that a command read and whose fingerprint is in its identity: a model, an input.
struct RunOrigin {
  std::string name;  ///< What a person would call it.
  std::string fingerprint;
};

/// Describes a command in the manifest. Two runs with the same identity produce the same files.
struct RunCommand {
  std::string name;                    ///< "relate"
  std::vector<std::string> arguments;  ///< As given, so that a person can repeat the run.
  /// What determines the result: options, model fingerprint, version.
  std::map<std::string, std::string> identity;
  /// What does not affect the result: threads, seconds, memory.
  std::map<std::string, std::string> circumstances;
  /// What fingerprints in the identity are of, by their keys: "model", "contents".
  std::map<std::string, std::vector<RunOrigin>> origins = {};
  /// What the results support, in sentences for people; the first one is the headline. Empty for commands that do not
  /// draw conclusions.
  std::vector<std::string> verdict = {};
};

/// A file kept in memory: a table, or the contents of any other file as they would be on disk.
struct InMemoryFile {
  RunFile file;
  std::shared_ptr<const std::vector<std::byte>> bytes;  ///< Null for a table.
  std::shared_ptr<const Table> table = {};              ///< Null for any other file.
};

/// The files that a command wrote, in memory.
struct InMemoryRun {
  RunCommand command;
  std::vector<InMemoryFile> files;
};

/// Bytes per element of an array on disk.
enum class RunFloat { kF32 = 4, kF16 = 2 };

/// An array of a RUN that is written piece by piece, in any order and from several threads, before the folder's
/// `commit`. The folder must outlive it.
class RunArray {
 public:
  /// Writes elements, in their on-disk type, starting at element `first`.
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

class WorkingFolder;

/// A folder of results that several commands add to, with a manifest that records what each file is and which command
/// wrote it.
///
/// Files are written in a subfolder and appear together when `commit` is called. If this object is destroyed without a
/// commit, or the process ends, the folder is unchanged; a process that ends in the middle of `commit` leaves a journal
/// from which the next command finishes it. Different commands may add to a folder at the same time; a second process
/// with the same command is refused. Nothing outside the folder is written or removed, whatever links it contains.
class RunFolder {
 public:
  /// Creates the folder if needed and reads its manifest.
  ///
  /// \throws Error  kInvalidArgument if the folder contains results of the same command with another identity, or of
  ///                another command on another model, and `force` is false, or if another process is running that
  ///                command there; kFormat if the manifest is malformed; kUnsupported if a newer version wrote it;
  ///                kIo if the folder cannot be created.
  RunFolder(std::filesystem::path path, RunCommand command, bool force);
  /// A folder in memory, never on disk: `commit` moves the files to `held`, which must outlive this object. Messages
  /// call its path "memory".
  RunFolder(RunCommand command, InMemoryRun& held);
  RunFolder(RunFolder&&) noexcept;
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  ~RunFolder();

  /// \throws Error  kInvalidArgument if there is a file of this name that another command wrote, or that the manifest
  ///                does not list, and `force` was false; kIo, kResource (disk full).
  void add_text(const RunFile& file, std::string_view text);
  void add_array(const RunFile& file, std::span<const float> values);
  /// Adds an array that is written piece by piece.
  [[nodiscard]] RunArray add_array(const RunFile& file, RunFloat element);
  void add_array(const RunFile& file, std::span<const std::int64_t> values);
  void add_array(const RunFile& file, std::span<const std::uint8_t> values);
  /// Adds a table as CSV, or in memory as it is.
  void add_table(const FileSchema& file, Table table);
  /// The same with another sentence about it.
  void add_table(RunFile file, Table table);
  /// Adds a file that the caller writes before `commit`. The reference is valid until then.
  [[nodiscard]] AtomicFile& add_file(const RunFile& file);
  /// Adds named matrices as one npz file of doubles.
  void add_matrices(const RunFile& file, std::span<const std::pair<std::string, const DoubleMatrix*>> matrices);

  /// Makes all files and the manifest appear. Files that the same command wrote before but not now are removed.
  void commit();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] bool is_in_memory() const noexcept { return held_ != nullptr; }
  /// Names in the order they were added.
  [[nodiscard]] std::vector<std::string> files() const;
  [[nodiscard]] std::map<std::string, std::string>& circumstances() noexcept { return command_.circumstances; }
  [[nodiscard]] std::vector<std::string>& verdict() noexcept { return command_.verdict; }

 private:
  void make_folder();
  void discard() noexcept;
  void check_name(const std::string& name) const;
  void read_previous();
  void check_identity() const;
  void check_model(JsonValue commands) const;
  AtomicFile begin_file(const RunFile& file);
  void add_npy(RunFile file, const NpyType& type, std::string_view dtype, std::size_t count,
               std::span<const std::byte> bytes);
  [[nodiscard]] std::string manifest() const;
  [[nodiscard]] std::vector<std::string> stale() const;

  std::filesystem::path path_;
  RunCommand command_;
  bool force_;
  std::vector<std::filesystem::path> made_;             // folders created by this object, outermost first
  std::unique_ptr<EmergencyAction> removal_;            // removes them if the process is interrupted
  std::shared_ptr<const Folder> folder_;                // null in memory
  std::unique_ptr<WorkingFolder> working_;              // null in memory
  std::string previous_;                                // the previous manifest; empty if there was none
  std::map<std::string, std::string> writers_;          // in it, the command that wrote each file
  std::set<std::string> added_;                         // names of pending files
  std::deque<std::pair<RunFile, AtomicFile>> pending_;  // a deque, because RunArrays point to its files
  InMemoryRun* held_ = nullptr;                         // destination of files in memory; null for a folder on disk
  struct Content {
    std::shared_ptr<std::vector<std::byte>> bytes;
    std::shared_ptr<const Table> table;
  };
  std::vector<Content> memory_;  // contents of files in memory, in the order of pending_
};

/// Returns the version of the schema that a manifest states.
/// \throws Error  kFormat or kUnsupported unless this program reads that version.
[[nodiscard]] std::size_t check_schema_version(JsonValue manifest, const std::string& where);

/// Writes a run kept in memory, or read from another folder, to a folder as the command itself would have.
/// \throws Error  as `RunFolder` and its `add_text`.
void save_run(const InMemoryRun& held, const std::filesystem::path& path, bool force);

}  // namespace headscope
