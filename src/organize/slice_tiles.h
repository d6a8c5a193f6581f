#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headscope/base/fixed_point.h"
#include "headscope/base/matrix.h"
#include "organize/l1_tile.h"

namespace headscope {

/// Consecutive panels of slices compared with one panel.
struct SliceTile {
  std::size_t first = 0;
  std::size_t panels = 0;
  std::size_t against = 0;
  std::size_t totals = 0;  ///< Offset of its sums among those of all tiles.

  /// Whether the last of its panels is the one they are compared with.
  [[nodiscard]] bool diagonal() const noexcept { return first + panels == against + 1; }
  [[nodiscard]] TilePlace place() const noexcept { return {panels}; }
};

/// Tiles that cover every pair of slices, and their sums as integers.
class SliceTiles {
 public:
  /// Sums start at zero.
  explicit SliceTiles(std::size_t slices);

  /// Largest first: threads wait for the tiles scheduled last, which should be small.
  [[nodiscard]] std::span<const SliceTile> tiles() const noexcept { return tiles_; }
  [[nodiscard]] std::int64_t* totals(const SliceTile& tile) noexcept { return totals_.data() + tile.totals; }
  /// Of all tiles.
  [[nodiscard]] std::span<std::int64_t> totals() noexcept { return totals_; }

  /// The sum of each pair of slices; symmetric.
  [[nodiscard]] DoubleMatrix sums(const FixedPoint& as) const;

 private:
  void copy_rotation(const SliceTile& tile, std::size_t panel, std::size_t rotation, const FixedPoint& as,
                     DoubleMatrix& result) const;

  std::size_t slices_;
  std::vector<SliceTile> tiles_;
  std::vector<std::int64_t> totals_;
};

}  // namespace headscope
