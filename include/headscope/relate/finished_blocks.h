#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/base/message.h"
#include "headscope/io/folder.h"
#include "headscope/io/mapped_file.h"
#include "headscope/linalg/gram.h"
#include "headscope/relate/metric.h"

namespace headscope {

/// Identifies the affinities between the heads of one layer and those of another.
struct BlockId {
  Metric metric = Metric::kPk;
  Role source_role = Role::kO;
  Role target_role = Role::kQ;
  std::size_t source_layer = 0;
  std::size_t target_layer = 0;

  friend auto operator<=>(const BlockId&, const BlockId&) = default;  // NOLINT(modernize-use-nullptr): a false alarm
};

/// Identifies what is known about the heads of one layer on one side of a metric.
struct SideId {
  Metric metric = Metric::kPk;
  Role role = Role::kO;
  bool target = false;
  std::size_t layer = 0;

  friend auto operator<=>(const SideId&, const SideId&) = default;  // NOLINT(modernize-use-nullptr): a false alarm
};

/// Blocks of affinities finished by a long run, stored on disk so that the same command can resume after an
/// interruption. Losing them costs only time: files that cannot be read, are damaged or belong to another key are
/// ignored, and if writing fails, nothing more is stored.
///
/// Files are RUN/unfinished/relate-HASH/*.blocks, where HASH is the hash of the key. Each file starts with the whole
/// key, ends with a checksum, and is written atomically. Links in the run are not followed.
class FinishedBlocks {
 public:
  /// Bytes of blocks that are held before they are saved, however short the time since the last save.
  static constexpr std::size_t kMostPending = std::size_t{16} << 20;

  /// `key` describes everything besides the BlockId that affects the bits of a block: the model, the processing of its
  /// weights, the selected heads, the engine, the version. Each rank writes its own files and reads those of all ranks.
  /// `keep` writes at most one file per `seconds_between` seconds.
  FinishedBlocks(const std::filesystem::path& run, std::string key, std::size_t rank = 0, double seconds_between = 10);
  FinishedBlocks(const FinishedBlocks&) = delete;
  FinishedBlocks& operator=(const FinishedBlocks&) = delete;
  ~FinishedBlocks() = default;

  /// Whether an earlier run stored this block.
  [[nodiscard]] bool has(const BlockId& id) const { return blocks_.contains(id); }
  /// Reads a stored block of this shape into `out`. Returns false if there is none.
  [[nodiscard]] bool restore(const BlockId& id, MatrixSpan out);
  /// The same for one side. `moments` may be empty, for metrics without moments.
  [[nodiscard]] bool restore(const SideId& id, std::span<GramMoments> moments, std::span<std::size_t> ranks);

  /// Copies the values. They reach the disk with a later `keep` or `save`; one file holds everything finished in
  /// between.
  void keep(const BlockId& id, MatrixView values);
  void keep(const SideId& id, std::span<const GramMoments> moments, std::span<const std::size_t> ranks);
  /// Writes what is not yet on disk, unless the run is too short to be worth it: no file exists yet and less than
  /// `seconds_between` seconds have passed.
  void save();

  [[nodiscard]] std::size_t restored() const noexcept { return restored_; }  ///< Blocks.
  [[nodiscard]] bool is_on_disk() const noexcept { return files_ > 0; }      ///< Whether a later run will find any.

  /// Removes everything that runs of `relate` left in the run.
  static void remove(const std::filesystem::path& run) noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  void read_files();
  void read(const MappedFile& file);
  void save_if_due();
  void write();
  [[nodiscard]] MessageWriter begin_file() const;

  std::shared_ptr<const Folder> run_;  // null if it cannot be opened
  std::string own_folder_;             // in the run
  std::string key_;
  std::size_t rank_;
  std::chrono::duration<double> between_;
  Clock::time_point last_ = Clock::now();
  std::vector<MappedFile> mapped_;
  std::map<BlockId, std::span<const std::byte>> blocks_;  // rows, columns, values; views into mapped_
  std::map<SideId, std::span<const std::byte>> sides_;    // moments, ranks
  MessageWriter pending_;
  std::size_t pending_records_ = 0;
  std::size_t restored_ = 0;
  std::size_t files_ = 0;
  bool can_write_ = true;
};

}  // namespace headscope
