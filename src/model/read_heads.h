#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headscope/base/buffer.h"
#include "headscope/io/checkpoint.h"
#include "headscope/model/head_map.h"

namespace headscope {

/// Heads of one role to read: their location and number, and a buffer that is reused if it has the right size.
struct HeadRequest {
  HeadSlice slice;
  std::size_t heads = 0;
  Buffer<float> recycled = {};
};

/// Reads matrices of `d_head` columns: for each request the columns of all its heads one after another, `d_model`
/// floats each, the layout of HeadWeights. All slices must be of the same tensor, which is read once.
///
/// \throws Error  kNumeric if a weight is NaN or infinite; the message gives its index.
[[nodiscard]] std::vector<Buffer<float>> read_heads(const Checkpoint& checkpoint, std::span<HeadRequest> requests,
                                                    std::size_t d_head);

}  // namespace headscope
