#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headscope/base/buffer.h"
#include "headscope/io/checkpoint.h"
#include "headscope/model/head_map.h"

namespace headscope {

/// A role's heads: where they lie, how many there are, and a buffer to use again if it is of the right size.
struct HeadRequest {
  HeadSlice slice;
  std::size_t heads = 0;
  Buffer<float> recycled = {};
};

/// Reads matrices of `d_head` columns from where the slices say they lie: for each
/// request the columns of all its heads one after another, `d_model` floats each, the layout of HeadWeights. All
/// slices are of one tensor, which is read once.
///
/// \throws Error  kNumeric if a weight is NaN or infinite, named with its index.
[[nodiscard]] std::vector<Buffer<float>> read_heads(const Checkpoint& checkpoint, std::span<HeadRequest> requests,
                                                    std::size_t d_head);

}  // namespace headscope
