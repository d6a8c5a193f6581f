#pragma once

#include <cstddef>

namespace headscope::bench {

/// Computes `count` times 12 maxima and multiply-adds of whole vectors that never leave the registers: what the loop of
/// the tree distances could reach if nothing had to be loaded. Returns the number of scalar maxima.
[[nodiscard]] double register_loop(std::size_t count, float* result);

}  // namespace headscope::bench
