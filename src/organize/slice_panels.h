#pragma once

#include <cstddef>
#include <span>

#include "headscope/base/buffer.h"
#include "headscope/base/ranks.h"
#include "headscope/organize/tree_distance.h"
#include "organize/l1_tile.h"

namespace headscope {

/// Shape of the slices to compare, independent of where their entries are stored.
struct SliceForm {
  std::size_t slices = 0;
  std::size_t rows = 0;
  std::size_t columns = 0;
  /// Entries are skipped where absent, and the mask differs between slices: sums need counts.
  bool masked = false;
  /// 1 where an entry is present, [row][column], if entries are skipped and all slices share the mask; otherwise empty.
  Buffer<float> common = {};

  [[nodiscard]] std::size_t panels() const noexcept { return (slices + kPanel - 1) / kPanel; }
};
[[nodiscard]] SliceForm slice_form(const TensorSlices& slices, AbsentEntries absent);

/// Interleaved slices, kPanel per panel: [panel][row][column][kPanel]. Absent entries count as zero, before the
/// reference is subtracted. Places without a slice hold arbitrary finite values.
struct SlicePanels {
  std::size_t panels = 0;
  std::size_t rows = 0;
  std::size_t columns = 0;
  Buffer<float> values;
  Buffer<float> present;  ///< 1 where an entry is present, if requested; otherwise empty.
  float largest = 0;      ///< Largest magnitude of the values.

  /// The entries of one row, [column][kPanel].
  [[nodiscard]] const float* row(const Buffer<float>& of, std::size_t panel, std::size_t index) const noexcept {
    return of.data() + (panel * rows + index) * columns * kPanel;
  }
};

struct PanelOptions {
  /// Stores presence next to the values, which are not changed. Otherwise a reference, what many slices have in common,
  /// is subtracted from all of them: it does not affect distances but costs digits in sums of maxima.
  bool presence = false;
  /// The reference, [row][column]. Empty: the mean over the slices of the middle panel.
  std::span<const float> reference = {};
  /// Number of free places at the start of the first panel: these slices are part of a larger set and keep their places
  /// in it.
  std::size_t before = 0;
};
[[nodiscard]] SlicePanels make_panels(const TensorSlices& slices, const PanelOptions& options);
/// Bytes of the panels.
[[nodiscard]] std::size_t panel_bytes(const TensorSlices& slices, const PanelOptions& options);

/// The slices whose mean is the default reference.
[[nodiscard]] IndexRange middle_panel(std::size_t slices) noexcept;

}  // namespace headscope
