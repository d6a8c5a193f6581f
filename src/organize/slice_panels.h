#pragma once

#include <cstddef>

#include "headscope/base/buffer.h"
#include "headscope/organize/tree_distance.h"
#include "organize/l1_tile.h"

namespace headscope {

/// Slices side by side, kPanel to a panel: [panel][row][column][kPanel]. Absent entries are zeros; the places behind
/// the last slice hold anything finite. Unless presence differs between slices, the mean over the slices
/// of one panel is subtracted from all.
struct SlicePanels {
  std::size_t slices = 0;
  std::size_t panels = 0;
  std::size_t rows = 0;
  std::size_t columns = 0;
  Buffer<float> values;
  /// 1 where an entry is present, if that differs between slices and matters; else empty.
  Buffer<float> present;
  /// 1 where an entry is present, [row][column], if that is the same for all slices and matters; else empty.
  Buffer<float> common;

  /// The entries of one row, [column][kPanel].
  [[nodiscard]] const float* row(const Buffer<float>& of, std::size_t panel, std::size_t index) const noexcept {
    return of.data() + (panel * rows + index) * columns * kPanel;
  }
};

[[nodiscard]] SlicePanels make_panels(const TensorSlices& slices, AbsentEntries absent);
[[nodiscard]] std::size_t panel_bytes(const TensorSlices& slices, AbsentEntries absent);

}  // namespace headscope
