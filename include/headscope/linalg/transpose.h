#pragma once

#include <cstddef>

namespace headscope {

/// out(j, i) = in(i, j) for a block of `rows x columns` floats inside larger row-major
/// matrices: `in_stride` and `out_stride` are the distances between rows. In
/// and out must not overlap.
///
/// Fast for blocks that fit the cache, in and out together; callers cut
/// larger matrices into such blocks.
void transpose(const float* in, std::size_t in_stride, std::size_t rows, std::size_t columns, float* out,
               std::size_t out_stride);

}  // namespace headscope
