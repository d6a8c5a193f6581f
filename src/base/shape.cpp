#include "headscope/base/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace headscope {

std::optional<std::uint64_t> checked_product(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

std::optional<std::uint64_t> element_count(std::span<const std::size_t> shape) noexcept {
  if (std::find(shape.begin(), shape.end(), std::size_t{0}) != shape.end()) return 0;
  std::optional<std::uint64_t> count = 1;
  for (const std::size_t extent : shape) {
    count = checked_product(*count, extent);
    if (!count) return std::nullopt;
  }
  return count;
}

std::string to_string(std::span<const std::size_t> shape) {
  // A hostile file may declare millions of axes.
  constexpr std::size_t kMax = 8;
  if (shape.size() <= kMax) return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", "));
  return fmt::format("[{}, ...] ({} axes)", fmt::join(shape.first(kMax), ", "), shape.size());
}

}  // namespace headscope
