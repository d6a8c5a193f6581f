#pragma once

#include <cstddef>

namespace headscope {

/// Computes out(j, i) = in(i, j) for a block of `rows x columns` floats inside larger row-major matrices whose row
/// strides are `in_stride` and `out_stride`. `in` and `out` must not overlap.
///
/// Fast for blocks whose input and output together fit in cache; callers split larger matrices into such blocks.
void transpose(const float* in, std::size_t in_stride, std::size_t rows, std::size_t columns, float* out,
               std::size_t out_stride);

}  // namespace headscope
