#pragma once

#include <array>
#include <cstddef>

namespace headscope {

/// Bytes that the distances between slices of a tensor take on the CPU, for the axis that takes the most: a copy of the
/// tensor in panels of 32 slices, and what `TreeDistance` works with. Extents are heads, queries, keys; `masked` if
/// entries may be absent. For tensors that are not loaded yet; at least what `TreeDistance::bytes` says.
[[nodiscard]] std::size_t distance_memory(const std::array<std::size_t, 3>& extents, bool masked);

}  // namespace headscope
