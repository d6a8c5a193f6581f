#include "benchmarks/register_loop.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "benchmarks/register_loop.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headscope::bench {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Tells the compiler that the vector may have changed; otherwise it would hoist the maxima out of the loop.
template <typename V>
HWY_INLINE void may_have_changed([[maybe_unused]] V& vector) {
#if HWY_ARCH_X86 && HWY_COMPILER_GCC && HWY_TARGET != HWY_EMU128
  asm volatile("" : "+v"(vector.raw));
#endif
}

// Twelve accumulators hide the latency of an addition. They are separate variables because an array would be kept in
// memory.
double register_loop_here(std::size_t count, float* result) {
  const hn::CappedTag<float, 16> d;
  const auto weight = hn::Set(d, result[0]);
  const auto x0 = hn::Set(d, result[0]);
  const auto x1 = hn::Set(d, result[1]);
  auto y0 = hn::Set(d, result[2]);
  auto y1 = hn::Set(d, result[3]);
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0, s8 = s0, s9 = s0, s10 = s0,
       s11 = s0;
  for (std::size_t i = 0; i < count; ++i) {
    may_have_changed(y0);
    may_have_changed(y1);
    s0 = hn::MulAdd(hn::Max(x0, y0), weight, s0);
    s1 = hn::MulAdd(hn::Max(x1, y0), weight, s1);
    s2 = hn::MulAdd(hn::Max(x0, y1), weight, s2);
    s3 = hn::MulAdd(hn::Max(x1, y1), weight, s3);
    may_have_changed(y0);
    may_have_changed(y1);
    s4 = hn::MulAdd(hn::Max(x0, y0), weight, s4);
    s5 = hn::MulAdd(hn::Max(x1, y0), weight, s5);
    s6 = hn::MulAdd(hn::Max(x0, y1), weight, s6);
    s7 = hn::MulAdd(hn::Max(x1, y1), weight, s7);
    may_have_changed(y0);
    may_have_changed(y1);
    s8 = hn::MulAdd(hn::Max(x0, y0), weight, s8);
    s9 = hn::MulAdd(hn::Max(x1, y0), weight, s9);
    s10 = hn::MulAdd(hn::Max(x0, y1), weight, s10);
    s11 = hn::MulAdd(hn::Max(x1, y1), weight, s11);
  }
  auto total = s0;
  for (const auto& sum : {s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11}) total = hn::Add(total, sum);
  result[0] += 1e-30F * hn::GetLane(hn::SumOfLanes(d, total));
  return static_cast<double>(count * 12 * hn::Lanes(d));
}

}  // namespace HWY_NAMESPACE
}  // namespace headscope::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headscope::bench {

HWY_EXPORT(register_loop_here);

double register_loop(std::size_t count, float* result) {
  return HWY_DYNAMIC_DISPATCH(register_loop_here)(count, result);
}

}  // namespace headscope::bench
#endif
