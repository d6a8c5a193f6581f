#pragma once

#include <cstddef>

namespace headscope::bench {

/// `count` times 12 maxima and multiply-adds of whole vectors that never leave the registers: what the loop of the tree
/// distances could reach if nothing had to be loaded. Returns how many maxima of numbers that was.
[[nodiscard]] double register_loop(std::size_t count, float* result);

}  // namespace headscope::bench
