#include "forward/window_parts.h"

namespace headscope {

WindowParts::WindowParts(const PatchWindows& windows, const PatchGrid& grid) : grid_(grid) {
  const PatchWindows own = windows.in(grid.height, grid.width);
  const std::size_t columns = own.along(grid.width - 1) + 1;
  parts_.resize((own.along(grid.height - 1) + 1) * columns);
  for (std::size_t token = 0; token < grid.size(); ++token) {
    parts_[own.along(token / grid.width) * columns + own.along(token % grid.width)].push_back(token);
  }
}

}  // namespace headscope
