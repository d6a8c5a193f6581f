#pragma once

#include <cstddef>
#include <cstdint>

namespace headscope {

/// sums[i] += values[i] * scales[i] * factor, rounded to an integer.
void add_as_integers(const float* values, const double* scales, double factor, std::size_t count, std::int64_t* sums);

}  // namespace headscope
