#pragma once

#include <cstddef>
#include <span>

#include "headscope/base/buffer.h"
#include "headscope/base/ranks.h"
#include "headscope/organize/tree_distance.h"
#include "organize/l1_tile.h"

namespace headscope {

/// What is compared with each other: so many slices, wherever their entries lie.
struct SliceForm {
  std::size_t slices = 0;
  std::size_t rows = 0;
  std::size_t columns = 0;
  /// Entries are absent in some slices and not in others, and are left out: sums go with counts.
  bool masked = false;
  /// 1 where an entry is present, [row][column], if entries are left out in all slices alike; else empty.
  Buffer<float> common = {};

  [[nodiscard]] std::size_t panels() const noexcept { return (slices + kPanel - 1) / kPanel; }
};
[[nodiscard]] SliceForm slice_form(const TensorSlices& slices, AbsentEntries absent);

/// Slices side by side, kPanel to a panel: [panel][row][column][kPanel]. Absent entries are zeros; places without a
/// slice hold anything finite.
struct SlicePanels {
  std::size_t panels = 0;
  std::size_t rows = 0;
  std::size_t columns = 0;
  Buffer<float> values;
  Buffer<float> present;  ///< 1 where an entry is present, if that was asked for; else empty.
  float largest = 0;      ///< Magnitude among the values.

  /// The entries of one row, [column][kPanel].
  [[nodiscard]] const float* row(const Buffer<float>& of, std::size_t panel, std::size_t index) const noexcept {
    return of.data() + (panel * rows + index) * columns * kPanel;
  }
};

struct PanelOptions {
  /// What is present is noted beside the values, which stay as they are. Otherwise what many slices have in common is
  /// subtracted from all of them: it adds nothing to their distances, and takes digits from sums of maxima.
  bool presence = false;
  /// That, [row][column]. Empty: the mean over the slices of the panel in the middle.
  std::span<const float> reference = {};
  /// Places of the first panel that are left free: the slices are some of many, and stand where they stand among all.
  std::size_t before = 0;
};
[[nodiscard]] SlicePanels make_panels(const TensorSlices& slices, const PanelOptions& options);
/// Bytes of the panels.
[[nodiscard]] std::size_t panel_bytes(const TensorSlices& slices, const PanelOptions& options);

/// The slices whose mean is subtracted from all.
[[nodiscard]] Share middle_panel(std::size_t slices) noexcept;

}  // namespace headscope
