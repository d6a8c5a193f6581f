#pragma once

#include <cstddef>
#include <vector>

#include "headscope/organize/tensor_share.h"
#include "organize/slice_panels.h"

namespace headscope {

/// This rank's part of the slices of a distributed tensor along an axis.
struct SharedPanels {
  const TensorShare& share;
  TensorAxis axis;
  SliceForm form;  ///< Of all slices.
  /// If heads are the slices, those of this rank, at the places they have among all heads; otherwise all slices, with
  /// the heads of this rank as rows.
  SlicePanels panels;
  float largest = 0;  ///< Largest magnitude of the values on all ranks.

  /// Whether heads are the slices rather than the rows.
  [[nodiscard]] bool of_heads() const noexcept { return axis == TensorAxis::kHead; }
};

/// Collective. The share must outlive the result.
[[nodiscard]] SharedPanels make_shared_panels(const TensorShare& share, TensorAxis axis);
/// Bytes of the panels.
[[nodiscard]] std::size_t shared_panel_bytes(const TensorShare& share, TensorAxis axis);
/// The form of all slices, on all ranks.
[[nodiscard]] SliceForm slice_form(const TensorShare& share, TensorAxis axis);

}  // namespace headscope
