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

namespace hn = hwy::HWY_NAMESPACE;

// NaNs and infinities have all exponent bits set.
constexpr std::uint32_t kExponent = 0x7F800000U;

/// Returns the index of the first NaN or infinity, or `count` if there is none.
std::size_t first_non_finite_here(const float* values, std::size_t count) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> bits;
  const auto exponent = hn::Set(bits, kExponent);
  const auto is_bad = [&](std::size_t at) HWY_ATTR {
    return hn::Eq(hn::And(hn::BitCast(bits, hn::LoadU(d, values + at)), exponent), exponent);
  };
  // Four vectors per iteration, so that the branch costs little.
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    const auto bad = hn::Or(hn::Or(is_bad(i), is_bad(i + lanes)), hn::Or(is_bad(i + 2 * lanes), is_bad(i + 3 * lanes)));
    if (!hn::AllFalse(bits, bad)) break;
  }
  for (; i < count; ++i) {
    std::uint32_t one = 0;
    std::memcpy(&one, values + i, sizeof one);
    if ((one & kExponent) == kExponent) break;
  }
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
