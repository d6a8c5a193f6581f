#pragma once

#include <compare>
#include <cstddef>
#include <span>

#include "headscope/base/matrix.h"
#include "headscope/io/finished_work.h"
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

/// Blocks of affinities finished by a long run of `relate`: a view of its `FinishedWork`, which must outlive it.
class FinishedBlocks {
 public:
  static constexpr std::size_t kMostPending = FinishedWork::kMostPending;

  /// The key of `work` describes everything besides the BlockId that affects the bits of a block: the model, the
  /// processing of its weights, the selected heads, the engine, the version.
  explicit FinishedBlocks(FinishedWork& work) : work_(&work) {}

  /// Whether an earlier run stored this block.
  [[nodiscard]] bool has(const BlockId& id) const;
  /// Reads a stored block of this shape into `out`. Returns false if there is none.
  [[nodiscard]] bool restore(const BlockId& id, MatrixSpan out);
  /// The same for one side. `moments` may be empty, for metrics without moments.
  [[nodiscard]] bool restore(const SideId& id, std::span<GramMoments> moments, std::span<std::size_t> ranks);

  /// Copies the values. They reach the disk as `FinishedWork::keep` says.
  void keep(const BlockId& id, MatrixView values);
  void keep(const SideId& id, std::span<const GramMoments> moments, std::span<const std::size_t> ranks);

  [[nodiscard]] std::size_t restored() const noexcept { return restored_; }  ///< Blocks.

 private:
  FinishedWork* work_;
  std::size_t restored_ = 0;
};

}  // namespace headscope
