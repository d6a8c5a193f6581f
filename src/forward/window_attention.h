#pragma once

#include <cstddef>
#include <vector>

#include "forward/attention.h"
#include "forward/window_bias.h"
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

/// The same as `attend`, within windows: the tokens are patches, and each attends to those of its window. Receivers get
/// rows over all tokens, with 0 for those of other windows: the model has no score for them. `bias` may be nullptr.
///
/// Cost: 4 m d flops per token and layer, with m the patches of a window.
void attend_in_windows(const AttentionTask& task, const WindowParts& windows, const WindowBias* bias);

/// Floats that a block needs besides `block_memory`, for windows of that side and number of patches.
[[nodiscard]] std::size_t window_floats(std::size_t side, std::size_t patches, const HeadSizes& sizes);

}  // namespace headscope
