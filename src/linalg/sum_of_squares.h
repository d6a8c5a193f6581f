#pragma once

#include <cstddef>

namespace headscope {

/// Returns the sum of squares of a `rows x columns` block of a column-major matrix whose columns are `stride` apart.
[[nodiscard]] double sum_of_squares(const float* block, std::size_t rows, std::size_t columns, std::size_t stride);

}  // namespace headscope
