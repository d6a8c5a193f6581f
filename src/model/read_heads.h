#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headscope/base/buffer.h"
#include "headscope/io/checkpoint.h"
#include "headscope/model/head_map.h"

namespace headscope {

/// Heads of one role to read: their location and number, a buffer that is reused if it has the right size, and the
/// factors that will be folded into the rows (empty for 1), which scale the noise.
struct HeadRequest {
  HeadSlice slice;
  std::size_t heads = 0;
  std::size_t width = 0;  ///< Columns of each head's matrix.
  Buffer<float> recycled = {};
  std::vector<float> factors = {};
};

/// What was read of one request.
struct ReadHeads {
  Buffer<float> values;
  std::vector<double> noise = {};  ///< `StorageNoise` of each head; empty for types of 32 bits and more.
};

/// Reads for each request the columns of all its heads one after another, as many floats each as the tensor's other
/// axis has, the layout of HeadWeights; factors are not applied. All slices must be of the same tensor, which is read
/// once.
///
/// \throws Error  kNumeric if a weight is NaN or infinite; the message gives its index.
[[nodiscard]] std::vector<ReadHeads> read_heads(const Checkpoint& checkpoint, std::span<HeadRequest> requests);

}  // namespace headscope
