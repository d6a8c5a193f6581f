#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headscope {

/// Extents of an array, outermost first. An empty shape is a scalar.
using Shape = std::vector<std::size_t>;

/// Returns a * b, or nothing if it does not fit 64 bits.
[[nodiscard]] std::optional<std::uint64_t> checked_product(std::uint64_t a, std::uint64_t b) noexcept;

/// Returns the number of elements of a shape, or nothing if it does not fit 64 bits. A zero extent gives 0 regardless
/// of the other extents.
[[nodiscard]] std::optional<std::uint64_t> element_count(std::span<const std::size_t> shape) noexcept;

/// Formats a shape for messages, e.g. "[768, 2304]"; prints the first eight axes and the number of axes if there are
/// more.
[[nodiscard]] std::string to_string(std::span<const std::size_t> shape);

}  // namespace headscope
