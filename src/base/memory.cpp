#include "headscope/base/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "headscope/base/error.h"

namespace headscope {
namespace {

constexpr std::size_t kMega = std::size_t{1} << 20;
constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();

std::size_t megabytes(std::size_t bytes) {
  return bytes / kMega + (bytes % kMega == 0 ? 0 : 1);
}

}  // namespace

std::size_t process_footprint(std::size_t threads) noexcept {
  return 16 * kMega + threads * 8 * kMega;
}

std::size_t saturating_add(std::size_t a, std::size_t b) noexcept {
  return a > kMost - b ? kMost : a + b;
}

std::size_t saturating_multiply(std::size_t a, std::size_t b) noexcept {
  return b != 0 && a > kMost / b ? kMost : a * b;
}

void require_memory(const Context& context, std::size_t bytes, std::string_view what) {
  // At least something, so that a budget below what the process itself takes is never enough.
  bytes = std::max<std::size_t>(bytes, 1);
  if (bytes <= context.memory) return;
  const std::size_t budget = context.budget != 0 ? context.budget : context.memory + context.taken;
  const std::size_t needed = saturating_add(bytes, context.taken);
  const std::string found = budget < kMega ? fmt::format("{} bytes", budget) : fmt::format("{} MB", budget / kMega);
  throw Error(ErrorKind::kResource,
              fmt::format("{} needs about {} MB of memory, but the budget is {}; use a larger --memory, "
                          "at least {}M",
                          what, megabytes(needed), found, megabytes(needed)));
}

}  // namespace headscope
