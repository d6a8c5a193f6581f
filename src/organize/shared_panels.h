#pragma once

#include <cstddef>
#include <vector>

#include "headscope/organize/tensor_share.h"
#include "organize/slice_panels.h"

namespace headscope {

/// The slices of a tensor along an axis whose heads are dealt out to ranks: what this rank has of them.
struct SharedPanels {
  const TensorShare& share;
  TensorAxis axis;
  SliceForm form;  ///< Of all slices.
  /// Where heads are the slices, those of this rank, in the places that they have among all; else all slices, with the
  /// heads of this rank as rows.
  SlicePanels panels;
  float largest = 0;  ///< Magnitude among the values of all ranks.

  /// Heads are the slices, not the rows.
  [[nodiscard]] bool of_heads() const noexcept { return axis == TensorAxis::kHead; }
};

/// All ranks call it. The share must outlive what is returned.
[[nodiscard]] SharedPanels make_shared_panels(const TensorShare& share, TensorAxis axis);
/// Bytes of the panels.
[[nodiscard]] std::size_t shared_panel_bytes(const TensorShare& share, TensorAxis axis);
/// Of all slices.
[[nodiscard]] SliceForm slice_form(const TensorShare& share, TensorAxis axis);

}  // namespace headscope
