#include "organize/slice_tiles.h"

#include <algorithm>

namespace headscope {

// Each panel against itself and those before it, two at a time, or three where one would be left over.
SliceTiles::SliceTiles(std::size_t slices) : slices_(slices) {
  std::size_t size = 0;
  for (std::size_t against = 0; against * kPanel < slices; ++against) {
    for (std::size_t first = 0; first <= against;) {
      const std::size_t left = against + 1 - first;
      const std::size_t panels = left == kTilePanels ? kTilePanels : std::min<std::size_t>(2, left);
      tiles_.push_back({first, panels, against, size});
      size += tiles_.back().place().sums();
      first += panels;
    }
  }
  totals_.assign(size, 0);
  std::stable_sort(tiles_.begin(), tiles_.end(), [](const SliceTile& a, const SliceTile& b) {
    const auto halves = [](const SliceTile& tile) { return 2 * tile.panels - (tile.diagonal() ? 1 : 0); };
    return halves(a) > halves(b);
  });
}

void SliceTiles::copy_rotation(const SliceTile& tile, std::size_t panel, std::size_t rotation, const FixedPoint& as,
                               DoubleMatrix& result) const {
  const bool with_itself = tile.first + panel == tile.against;
  for (std::size_t i = 0; i < kPanel; ++i) {
    if (with_itself && !needed_on_diagonal(i / kHalfPanel, rotation)) continue;
    const std::size_t row = (tile.first + panel) * kPanel + i;
    const std::size_t column = tile.against * kPanel + TilePlace::partner(i, rotation);
    if (row >= slices_ || column >= slices_) continue;
    const double sum = as.value(totals_[tile.totals + tile.place().at(panel, i, rotation)]);
    result(row, column) = result(column, row) = sum;
  }
}

DoubleMatrix SliceTiles::sums(const FixedPoint& as) const {
  DoubleMatrix result(slices_, slices_);
  for (const SliceTile& tile : tiles_) {
    for (std::size_t panel = 0; panel < tile.panels; ++panel) {
      for (std::size_t rotation = 0; rotation < kPanel; ++rotation) copy_rotation(tile, panel, rotation, as, result);
    }
  }
  return result;
}

}  // namespace headscope
