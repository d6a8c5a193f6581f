#pragma once

#include <algorithm>
#include <cstddef>

namespace headscope {

/// Windows of patches: a patch attends to the patches of its own window only. Windows are squares, cut off at the edges
/// of the image. In Swin's shifted layers the first row and column of windows are only `shift` patches wide; the window
/// that Swin makes of the opposite edges of the image is masked so that its parts do not see each other.
struct PatchWindows {
  std::size_t side = 0;   ///< In patches; 0: every patch attends to all.
  std::size_t shift = 0;  ///< Less than `side`.

  [[nodiscard]] bool empty() const noexcept { return side == 0; }

  /// Number of the window along one axis that a row or column of patches belongs to.
  [[nodiscard]] std::size_t along(std::size_t index) const noexcept {
    return shift == 0 ? index / side : (index + side - shift) / side;
  }

  /// The windows in a grid of patches: a window that covers the shorter side is not shifted.
  [[nodiscard]] PatchWindows in(std::size_t height, std::size_t width) const noexcept {
    return {side, std::min(height, width) <= side ? 0 : shift};
  }

  friend bool operator==(const PatchWindows&, const PatchWindows&) = default;
};

}  // namespace headscope
