#pragma once

#include <cstddef>
#include <vector>

#include "headscope/base/patch_windows.h"
#include "headscope/forward/patch_grid.h"

namespace headscope {

/// The patches of an image by window: the tokens of each, in order.
class WindowParts {
 public:
  WindowParts(const PatchWindows& windows, const PatchGrid& grid);

  [[nodiscard]] const PatchGrid& grid() const noexcept { return grid_; }
  [[nodiscard]] const std::vector<std::vector<std::size_t>>& parts() const noexcept { return parts_; }

 private:
  PatchGrid grid_;
  std::vector<std::vector<std::size_t>> parts_;
};

}  // namespace headscope
