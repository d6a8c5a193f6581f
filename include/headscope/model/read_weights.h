#pragma once

#include <span>
#include <vector>

#include "headscope/base/buffer.h"
#include "headscope/io/checkpoint.h"

namespace headscope {

/// Reads a small tensor.
/// \throws Error  kNumeric if a value is NaN or infinite; the message gives its index.
[[nodiscard]] std::vector<float> read_vector(const Checkpoint& checkpoint, const StoredTensor& tensor);

/// Whether `read_weights` returns a view of the tensor's bytes, without allocating.
[[nodiscard]] bool is_read_in_place(const StoredTensor& tensor) noexcept;

/// Returns a tensor's values in row-major order: a view of the file if it holds aligned float32, otherwise a view of
/// `scratch`, which grows as needed and is decoded into on all threads. FP8 weights are multiplied by their block
/// factors.
///
/// Does not check for NaN and infinity, which would cost a pass over every weight. See `reject_non_finite`.
[[nodiscard]] std::span<const float> read_weights(const Checkpoint& checkpoint, const StoredTensor& tensor,
                                                  Buffer<float>& scratch);

/// Reads out.size() elements of the tensor starting at element `first`, e.g. a few rows of a large table. Both numbers
/// must be multiples of the block size of the tensor's type. Does not apply FP8 block factors.
void read_part(const StoredTensor& tensor, std::size_t first, std::span<float> out);

/// \throws Error  kNumeric if the tensor holds a NaN or an infinity; the message gives its index.
void reject_non_finite(const Checkpoint& checkpoint, const StoredTensor& tensor);

}  // namespace headscope
