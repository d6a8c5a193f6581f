#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "io/find_non_finite.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "headscope/io/decode.h"

HWY_BEFORE_NAMESPACE();
namespace headscope {
namespace HWY_NAMESPACE {

// Long enough that the test between chunks costs nothing, short enough that the
// search inside the offending one does not either.
constexpr std::size_t kChunk = 1024;

// NaNs and infinities have all exponent bits set. Bits rather than isfinite():
// integer loops vectorize on every target.
HWY_INLINE std::uint32_t missing_exponent_bits(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return ~bits & 0x7F800000U;
}

HWY_INLINE bool all_finite(const float* HWY_RESTRICT values) {
  std::uint32_t found = 0;
  for (std::size_t i = 0; i < kChunk; ++i) found |= missing_exponent_bits(values[i]) == 0 ? 1U : 0U;
  return found == 0;
}

/// Index of the first NaN or infinity, `count` if there is none.
std::size_t first_non_finite_here(const float* values, std::size_t count) {
  std::size_t i = 0;
  while (i + kChunk <= count && all_finite(values + i)) i += kChunk;
  while (i < count && missing_exponent_bits(values[i]) != 0) ++i;
  return i;
}

}  // namespace HWY_NAMESPACE
}  // namespace headscope
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headscope {

HWY_EXPORT(first_non_finite_here);

std::optional<std::size_t> find_non_finite(std::span<const float> values) {
  const std::size_t index = HWY_DYNAMIC_DISPATCH(first_non_finite_here)(values.data(), values.size());
  if (index == values.size()) return std::nullopt;
  return index;
}

}  // namespace headscope
#endif
