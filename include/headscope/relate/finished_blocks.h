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
#include "headscope/io/mapped_file.h"
#include "headscope/linalg/gram.h"
#include "headscope/relate/metric.h"

namespace headscope {

/// The affinities between the heads of one layer and those of another.
struct BlockId {
  Metric metric = Metric::kPk;
  Role source_role = Role::kO;
  Role target_role = Role::kQ;
  std::size_t source_layer = 0;
  std::size_t target_layer = 0;

  friend auto operator<=>(const BlockId&, const BlockId&) = default;  // NOLINT(modernize-use-nullptr): a false alarm
};

/// What is known of the heads of one layer on one side of a metric.
struct SideId {
  Metric metric = Metric::kPk;
  Role role = Role::kO;
  bool target = false;
  std::size_t layer = 0;

  friend auto operator<=>(const SideId&, const SideId&) = default;  // NOLINT(modernize-use-nullptr): a false alarm
};

/// Blocks of affinities that a long run has finished, kept on disk so that the same command goes on from them after
/// whatever ended it. Losing them costs time, nothing else: what cannot be read, is damaged or belongs to another key
/// is not there, and where nothing can be written nothing is kept.
///
/// They lie in `folder`/relate-HASH/*.blocks, HASH being that of the key; each file begins with the whole key, ends
/// with a checksum, and appears whole or not at all.
class FinishedBlocks {
 public:
  /// `key` says everything that decides the bits of a block beside its BlockId: the model, the processing of its
  /// weights, which heads were chosen, the engine, the version. `rank` writes files of its own and reads those of all.
  FinishedBlocks(const std::filesystem::path& folder, std::string key, std::size_t rank = 0,
                 double seconds_between = 10);
  FinishedBlocks(const FinishedBlocks&) = delete;
  FinishedBlocks& operator=(const FinishedBlocks&) = delete;
  ~FinishedBlocks() = default;

  /// Whether an earlier run has kept it.
  [[nodiscard]] bool has(const BlockId& id) const { return blocks_.contains(id); }
  /// Whether the block was there, with this shape; then it is in `out`.
  [[nodiscard]] bool restore(const BlockId& id, MatrixSpan out);
  /// `moments` may be empty: for metrics that have none.
  [[nodiscard]] bool restore(const SideId& id, std::span<GramMoments> moments, std::span<std::size_t> ranks);

  /// Takes a copy, which is on disk some seconds later: one file is written for all that was finished meanwhile.
  void keep(const BlockId& id, MatrixView values);
  void keep(const SideId& id, std::span<const GramMoments> moments, std::span<const std::size_t> ranks);
  /// Writes what is not yet on disk if the run has been going on for long enough to be worth it.
  void save();

  [[nodiscard]] std::size_t restored() const noexcept { return restored_; }  ///< Blocks.
  [[nodiscard]] bool is_on_disk() const noexcept { return files_ > 0; }      ///< Whether a later run will find some.
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return own_folder_; }

  /// Removes what any run of `relate` has left in `folder`.
  static void remove(const std::filesystem::path& folder) noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  void read_files();
  void read(const MappedFile& file);
  void save_if_due();
  void write();
  [[nodiscard]] MessageWriter begin_file() const;

  std::filesystem::path own_folder_;
  std::string key_;
  std::size_t rank_;
  std::chrono::duration<double> between_;
  Clock::time_point last_ = Clock::now();
  std::vector<MappedFile> mapped_;
  std::map<BlockId, std::span<const std::byte>> blocks_;  // rows, columns, values; in place
  std::map<SideId, std::span<const std::byte>> sides_;    // heads, moments, ranks
  MessageWriter pending_;
  std::size_t pending_records_ = 0;
  std::size_t restored_ = 0;
  std::size_t files_ = 0;
  bool can_write_ = true;
};

}  // namespace headscope
