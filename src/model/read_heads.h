#pragma once

#include <vector>

#include "headscope/base/buffer.h"
#include "headscope/io/checkpoint.h"
#include "headscope/model/head_map.h"

namespace headscope {

/// Reads `heads` matrices of `d_head` columns from where `slice` says they lie, as the columns of
/// all heads one after another, `d_model` floats each: the layout of HeadWeights.
///
/// \throws Error  kNumeric if a weight is NaN or infinite, named with its index.
[[nodiscard]] Buffer<float> read_heads(const Checkpoint& checkpoint, const HeadSlice& slice, std::size_t heads,
                                       std::size_t d_head);

/// Reads a tensor of one axis.
/// \throws Error  kNumeric as `read_heads`.
[[nodiscard]] std::vector<float> read_vector(const Checkpoint& checkpoint, const StoredTensor& tensor);

}  // namespace headscope
