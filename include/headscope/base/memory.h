#pragma once

#include <cstddef>
#include <string_view>

#include "headscope/base/context.h"

namespace headscope {

// The memory budget counts what a process has to keep in memory: its heap, stacks and buffers. Pages of mapped files
// are not counted, because the system drops them when it needs the memory.

/// What a process takes before it computes anything, in bytes: program and libraries, and buffers of BLAS per thread.
[[nodiscard]] std::size_t process_footprint(std::size_t threads) noexcept;

/// Returns the sum, or the largest number if it is larger. Sizes in files may add up to more than there is.
[[nodiscard]] std::size_t saturating_add(std::size_t a, std::size_t b) noexcept;
/// Returns the product, or the largest number if it is larger.
[[nodiscard]] std::size_t saturating_multiply(std::size_t a, std::size_t b) noexcept;

/// Checks that `bytes` fit the memory of the context. `what` begins the message: "relating 3200 heads".
///
/// \throws Error  kResource, with the smallest budget that would be enough, if they do not.
void require_memory(const Context& context, std::size_t bytes, std::string_view what);

}  // namespace headscope
