#include "organize/slice_tiles.h"

#include <algorithm>

#include "headscope/base/message.h"

namespace headscope {

// Each panel against those before it and itself, two at a time, and three where one would be left over.
SliceTiles::SliceTiles(std::size_t slices, Ranks& ranks) : slices_(slices), ranks_(ranks) {
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
  for (std::size_t i = ranks.rank(); i < tiles_.size(); i += ranks.size()) own_.push_back(tiles_[i]);
  // The largest first: the last ones to be handed out to threads are those that all wait for.
  std::stable_sort(own_.begin(), own_.end(), [](const SliceTile& a, const SliceTile& b) {
    const auto halves = [](const SliceTile& tile) { return 2 * tile.panels - (tile.diagonal() ? 1 : 0); };
    return halves(a) > halves(b);
  });
}

std::span<double> SliceTiles::totals_of(const SliceTile& tile) noexcept {
  return std::span(totals_).subspan(tile.totals, tile.place().sums());
}

void SliceTiles::exchange() {
  if (ranks_.size() == 1) return;
  MessageWriter own;
  for (std::size_t i = ranks_.rank(); i < tiles_.size(); i += ranks_.size()) {
    own.put_all(std::span<const double>(totals_of(tiles_[i])));
  }
  ranks_.gather(own.bytes(), [&](std::size_t from, std::span<const std::byte> bytes) {
    MessageReader message(bytes);
    for (std::size_t i = from; i < tiles_.size(); i += ranks_.size()) message.take_all(totals_of(tiles_[i]));
  });
  std::vector<std::byte> all;
  if (ranks_.is_root()) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(totals_));
    all.assign(bytes.begin(), bytes.end());
  }
  ranks_.broadcast(all);
  MessageReader(all).take_all(std::span(totals_));
}

void SliceTiles::copy_rotation(const SliceTile& tile, std::size_t panel, std::size_t rotation,
                               DoubleMatrix& result) const {
  const bool with_itself = tile.first + panel == tile.against;
  for (std::size_t i = 0; i < kPanel; ++i) {
    if (with_itself && !needed_on_diagonal(i / kHalfPanel, rotation)) continue;
    const std::size_t row = (tile.first + panel) * kPanel + i;
    const std::size_t column = tile.against * kPanel + TilePlace::partner(i, rotation);
    if (row >= slices_ || column >= slices_) continue;
    result(row, column) = result(column, row) = totals_[tile.totals + tile.place().at(panel, i, rotation)];
  }
}

DoubleMatrix SliceTiles::sums() const {
  DoubleMatrix result(slices_, slices_);
  for (const SliceTile& tile : tiles_) {
    for (std::size_t panel = 0; panel < tile.panels; ++panel) {
      for (std::size_t rotation = 0; rotation < kPanel; ++rotation) copy_rotation(tile, panel, rotation, result);
    }
  }
  return result;
}

}  // namespace headscope
