#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "linalg/transpose.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "headscope/linalg/transpose.h"

HWY_BEFORE_NAMESPACE();
namespace headscope {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
constexpr std::size_t kSide = 1;

HWY_INLINE void transpose_square(hn::FixedTag<float, 1> /*d*/, const float* in, std::size_t /*in_stride*/, float* out,
                                 std::size_t /*out_stride*/) {
  *out = *in;
}
#else
// Transposes a 4 x 4 square in four registers of four lanes.
HWY_INLINE void transpose_square(hn::FixedTag<float, 4> d, const float* HWY_RESTRICT in, std::size_t in_stride,
                                 float* HWY_RESTRICT out, std::size_t out_stride) {
  const hn::Repartition<double, decltype(d)> pairs;
  const auto a = hn::LoadU(d, in);
  const auto b = hn::LoadU(d, in + in_stride);
  const auto c = hn::LoadU(d, in + 2 * in_stride);
  const auto e = hn::LoadU(d, in + 3 * in_stride);
  const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));  // a0 b0 a1 b1
  const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
  const auto ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
  const auto ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_low, ce_low)), d, out);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_low, ce_low)), d, out + out_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ce_high)), d, out + 2 * out_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ce_high)), d, out + 3 * out_stride);
}

#endif

#if HWY_TARGET <= HWY_AVX2  // smaller numbers are better targets
constexpr std::size_t kSide = 8;

// Transposes an 8 x 8 square with two rows of 4 x 4 squares side by side in each register. Loading rows i and i + 4
// into one register puts the halves in their final lanes, so that no step crosses the middle.
HWY_INLINE void transpose_square(hn::FixedTag<float, 8> d, const float* HWY_RESTRICT in, std::size_t in_stride,
                                 float* HWY_RESTRICT out, std::size_t out_stride) {
  const hn::FixedTag<float, 4> half;
  const hn::Repartition<double, decltype(d)> pairs;
  for (std::size_t j = 0; j < 8; j += 4) {
    const auto row = [&](std::size_t i) HWY_ATTR {
      return hn::Combine(d, hn::LoadU(half, in + (i + 4) * in_stride + j), hn::LoadU(half, in + i * in_stride + j));
    };
    const auto a = row(0);
    const auto b = row(1);
    const auto c = row(2);
    const auto e = row(3);
    const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
    const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
    const auto ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
    const auto ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
    float* column = out + j * out_stride;
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_low, ce_low)), d, column);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_low, ce_low)), d, column + out_stride);
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ce_high)), d, column + 2 * out_stride);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ce_high)), d, column + 3 * out_stride);
  }
}
#elif HWY_TARGET != HWY_SCALAR
constexpr std::size_t kSide = 4;
#endif

void transpose_here(const float* in, std::size_t in_stride, std::size_t rows, std::size_t columns, float* out,
                    std::size_t out_stride) {
  const hn::FixedTag<float, kSide> d;
  const std::size_t whole_rows = rows / kSide * kSide;
  const std::size_t whole_columns = columns / kSide * kSide;
  for (std::size_t j = 0; j < whole_columns; j += kSide) {
    for (std::size_t i = 0; i < whole_rows; i += kSide) {
      transpose_square(d, in + i * in_stride + j, in_stride, out + j * out_stride + i, out_stride);
    }
  }
  for (std::size_t j = 0; j < columns; ++j) {
    for (std::size_t i = j < whole_columns ? whole_rows : 0; i < rows; ++i) {
      out[j * out_stride + i] = in[i * in_stride + j];
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace headscope
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headscope {

HWY_EXPORT(transpose_here);

void transpose(const float* in, std::size_t in_stride, std::size_t rows, std::size_t columns, float* out,
               std::size_t out_stride) {
  HWY_DYNAMIC_DISPATCH(transpose_here)(in, in_stride, rows, columns, out, out_stride);
}

}  // namespace headscope
#endif
