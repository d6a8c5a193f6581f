#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "linalg/integer_sum.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "linalg/integer_sum.h"

HWY_BEFORE_NAMESPACE();
namespace headscope {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void add_as_integers_here(const float* HWY_RESTRICT values, const double* HWY_RESTRICT scales, double factor,
                          std::size_t count, std::int64_t* HWY_RESTRICT sums) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> half;
  const hn::Rebind<std::int64_t, decltype(d)> integer;
  const std::size_t lanes = hn::Lanes(d);
  const auto common = hn::Set(d, factor);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto scale = hn::Mul(hn::LoadU(d, scales + i), common);
    const auto rounded = hn::Round(hn::Mul(hn::PromoteTo(d, hn::LoadU(half, values + i)), scale));
    hn::StoreU(hn::Add(hn::LoadU(integer, sums + i), hn::ConvertTo(integer, rounded)), integer, sums + i);
  }
  for (; i < count; ++i) {
    sums[i] += static_cast<std::int64_t>(std::nearbyint(static_cast<double>(values[i]) * (scales[i] * factor)));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace headscope
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headscope {

HWY_EXPORT(add_as_integers_here);

void add_as_integers(const float* values, const double* scales, double factor, std::size_t count, std::int64_t* sums) {
  HWY_DYNAMIC_DISPATCH(add_as_integers_here)(values, scales, factor, count, sums);
}

}  // namespace headscope
#endif
