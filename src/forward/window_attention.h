#pragma once

#include <cstddef>

#include "forward/attention.h"
#include "headscope/model/head_sizes.h"

namespace headscope {

/// The same as `attend`, within the windows of the task's rules: the tokens are patches, and each attends to those of
/// its window. Receivers get rows over all tokens, with 0 for those of other windows: the model has no score for them.
///
/// Cost: 4 m d flops per token and layer, with m the patches of a window.
void attend_in_windows(const AttentionTask& task);

/// Floats that a block needs besides `block_memory`, for windows of that side and number of patches.
[[nodiscard]] std::size_t window_floats(std::size_t side, std::size_t patches, const HeadSizes& sizes);

}  // namespace headscope
