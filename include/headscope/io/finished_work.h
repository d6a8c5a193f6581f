#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/base/message.h"
#include "headscope/io/folder.h"
#include "headscope/io/mapped_file.h"

namespace headscope {

/// Pieces of a long computation that are finished, stored on disk so that the same command can resume after an
/// interruption. Losing them costs only time: files that cannot be read, are damaged or belong to another key are
/// ignored, and if writing fails, nothing more is stored.
///
/// Files are RUN/unfinished/COMMAND-HASH/*.blocks, where HASH is the hash of the key. Each file starts with the whole
/// key, ends with a checksum, and is written atomically. Links in the run are not followed.
class FinishedWork {
 public:
  /// Bytes that are held before they are saved, however short the time since the last save.
  static constexpr std::size_t kMostPending = std::size_t{16} << 20;

  /// `key` describes everything besides the id that affects the bits of a piece: the model, the options, the version.
  /// Each rank writes its own files and reads those of all ranks. `keep` writes at most one file per `seconds_between`
  /// seconds.
  FinishedWork(const std::filesystem::path& run, std::string_view command, std::string key, std::size_t rank = 0,
               double seconds_between = 10);
  FinishedWork(const FinishedWork&) = delete;
  FinishedWork& operator=(const FinishedWork&) = delete;
  ~FinishedWork() = default;

  /// What an earlier run stored under this id, valid as long as this object; nothing if it stored none.
  [[nodiscard]] std::optional<std::span<const std::byte>> find(std::string_view id) const;
  /// Copies the bytes. They reach the disk with a later `keep` or `save`; one file holds everything finished in
  /// between.
  void keep(std::string_view id, std::span<const std::byte> bytes);
  /// Writes what is not yet on disk, unless the run is too short to be worth it: no file exists yet and less than
  /// `seconds_between` seconds have passed.
  void save();

  [[nodiscard]] bool is_on_disk() const noexcept { return files_ > 0; }  ///< Whether a later run will find any.

  /// Removes everything that runs of a command left in the run.
  static void remove(const std::filesystem::path& run, std::string_view command) noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  void read_files();
  void read(const MappedFile& file);
  void write();

  std::shared_ptr<const Folder> run_;  // null if it cannot be opened
  std::string own_folder_;             // in the run
  std::string key_;
  std::size_t rank_;
  std::chrono::duration<double> between_;
  Clock::time_point last_ = Clock::now();
  std::vector<MappedFile> mapped_;
  std::map<std::string, std::span<const std::byte>, std::less<>> found_;  // views into mapped_
  MessageWriter pending_;
  std::size_t pending_records_ = 0;
  std::size_t files_ = 0;
  bool can_write_ = true;
};

}  // namespace headscope
