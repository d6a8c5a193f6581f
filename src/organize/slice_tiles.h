#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/base/ranks.h"
#include "organize/l1_tile.h"

namespace headscope {

/// Some consecutive panels of slices against one panel.
struct SliceTile {
  std::size_t first = 0;
  std::size_t panels = 0;
  std::size_t against = 0;
  std::size_t totals = 0;  ///< Where its sums begin among those of all tiles.

  /// The last of its panels is the one they are compared with.
  [[nodiscard]] bool diagonal() const noexcept { return first + panels == against + 1; }
  [[nodiscard]] TilePlace place() const noexcept { return {panels}; }
};

/// The tiles in which each two of some slices meet, dealt out to ranks, and their sums.
class SliceTiles {
 public:
  /// Sums begin as zeros. The ranks must outlive it.
  SliceTiles(std::size_t slices, Ranks& ranks);

  /// The tiles that this rank computes, the largest first.
  [[nodiscard]] std::span<const SliceTile> own() const noexcept { return own_; }
  [[nodiscard]] double* totals(const SliceTile& tile) noexcept { return totals_.data() + tile.totals; }

  /// Gives every rank the sums of all. Called by all of them.
  void exchange();
  /// The sum of each two slices; symmetric.
  [[nodiscard]] DoubleMatrix sums() const;

 private:
  [[nodiscard]] std::span<double> totals_of(const SliceTile& tile) noexcept;
  void copy_rotation(const SliceTile& tile, std::size_t panel, std::size_t rotation, DoubleMatrix& result) const;

  std::size_t slices_;
  Ranks& ranks_;
  std::vector<SliceTile> tiles_;
  std::vector<SliceTile> own_;
  std::vector<double> totals_;
};

}  // namespace headscope
