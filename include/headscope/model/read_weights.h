#pragma once

#include <span>
#include <vector>

#include "headscope/base/buffer.h"
#include "headscope/io/checkpoint.h"

namespace headscope {

/// The numbers of a small tensor.
/// \throws Error  kNumeric if one is NaN or infinite, named with its index.
[[nodiscard]] std::vector<float> read_vector(const Checkpoint& checkpoint, const StoredTensor& tensor);

/// Whether `read_weights` looks at the tensor where it lies, without memory for it.
[[nodiscard]] bool is_read_in_place(const StoredTensor& tensor) noexcept;

/// The numbers of a tensor in C order: where the file holds aligned float32 they are looked at in place, otherwise
/// decoded on all threads into `scratch`, which grows as needed. FP8 weights are multiplied by their block factors.
///
/// NaN and infinity pass: they cost a pass over every weight to look for. See `refuse_non_finite`.
[[nodiscard]] std::span<const float> read_weights(const Checkpoint& checkpoint, const StoredTensor& tensor,
                                                  Buffer<float>& scratch);

/// A number of elements of the tensor, from `first` on: a few rows of a large table. Both at block boundaries.
void read_part(const StoredTensor& tensor, std::size_t first, std::span<float> out);

/// \throws Error  kNumeric if the tensor holds a NaN or an infinity, named with its index.
void refuse_non_finite(const Checkpoint& checkpoint, const StoredTensor& tensor);

}  // namespace headscope
