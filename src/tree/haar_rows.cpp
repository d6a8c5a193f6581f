#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tree/haar_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tree/haar_rows.h"

HWY_BEFORE_NAMESPACE();
namespace headscope {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// At most 16 lanes of float, so that vectors divide the width exactly.
template <typename T>
using Tag = hn::CappedTag<T, kHaarWidthUnit>;

template <typename T>
HWY_INLINE void reflect(const HaarBasis::Reflection& r, T* rows, std::size_t width) {
  const Tag<T> d;
  T* HWY_RESTRICT kept = rows + r.kept * width;
  T* HWY_RESTRICT left = rows + r.left * width;
  const auto a = hn::Set(d, static_cast<T>(r.a));
  const auto b = hn::Set(d, static_cast<T>(r.b));
  for (std::size_t i = 0; i < width; i += hn::Lanes(d)) {
    const auto x = hn::Load(d, kept + i);
    const auto y = hn::Load(d, left + i);
    hn::Store(hn::MulAdd(a, x, hn::Mul(b, y)), d, kept + i);
    hn::Store(hn::MulSub(b, x, hn::Mul(a, y)), d, left + i);
  }
}

template <typename T>
void reflect_all(T* rows, std::size_t width, std::span<const HaarBasis::Reflection> reflections, bool backwards) {
  if (backwards) {
    for (std::size_t i = reflections.size(); i-- > 0;) reflect(reflections[i], rows, width);
  } else {
    for (const HaarBasis::Reflection& r : reflections) reflect(r, rows, width);
  }
}

void reflect_floats(float* rows, std::size_t width, std::span<const HaarBasis::Reflection> list, bool backwards) {
  reflect_all(rows, width, list, backwards);
}

void reflect_doubles(double* rows, std::size_t width, std::span<const HaarBasis::Reflection> list, bool backwards) {
  reflect_all(rows, width, list, backwards);
}

double sum_of_magnitudes_here(const float* rows, std::size_t n, std::size_t width) {
  const Tag<float> d;
  double total = 0;
  HWY_ALIGN float lanes[kHaarWidthUnit];
  for (std::size_t row = 0; row < n; ++row) {
    // The same 16 partial sums regardless of the number of lanes.
    for (std::size_t part = 0; part < kHaarWidthUnit; part += hn::Lanes(d)) {
      auto sum = hn::Zero(d);
      for (std::size_t i = part; i < width; i += kHaarWidthUnit) {
        sum = hn::Add(sum, hn::Abs(hn::Load(d, rows + row * width + i)));
      }
      hn::Store(sum, d, lanes + part);
    }
    double of_row = 0;
    for (const float lane : lanes) of_row += static_cast<double>(lane);
    total += of_row;
  }
  return total;
}

}  // namespace HWY_NAMESPACE
}  // namespace headscope
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headscope {

HWY_EXPORT(reflect_floats);
HWY_EXPORT(reflect_doubles);
HWY_EXPORT(sum_of_magnitudes_here);

void reflect_rows(float* rows, std::size_t width, std::span<const HaarBasis::Reflection> reflections, bool backwards) {
  HWY_DYNAMIC_DISPATCH(reflect_floats)(rows, width, reflections, backwards);
}

void reflect_rows(double* rows, std::size_t width, std::span<const HaarBasis::Reflection> reflections, bool backwards) {
  HWY_DYNAMIC_DISPATCH(reflect_doubles)(rows, width, reflections, backwards);
}

double sum_of_magnitudes(const float* rows, std::size_t n, std::size_t width) {
  return HWY_DYNAMIC_DISPATCH(sum_of_magnitudes_here)(rows, n, width);
}

}  // namespace headscope
#endif
