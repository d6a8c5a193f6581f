#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "organize/l1_tile.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "organize/l1_tile.h"

HWY_BEFORE_NAMESPACE();
namespace headscope {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<float, kPanel / 2>;
using Vector = hn::Vec<Tag>;

// A register block is some slices of `a`, each broadcast, against up to four vectors of slices of `b`. A broadcast
// takes a slot of the units that do the arithmetic, so it has to serve many vectors; 16 accumulators, or 8 where there
// are only 16 registers, are chains enough to hide the latency of an addition. With fewer vectors it is more slices.
#if HWY_TARGET <= HWY_AVX3  // smaller numbers are better targets
constexpr std::size_t kAccumulators = 16;
#else
constexpr std::size_t kAccumulators = 8;
#endif
constexpr std::size_t kMostVectors = 4;
// Slices of `a` that begin at the same vector of `b` on the diagonal: a whole number of blocks of any height.
constexpr std::size_t kBand = 16;
// Features that are taken at a time: all panels' share of them stays in the first-level cache while every register
// block of the tile passes over it.
constexpr std::size_t kChunk = 64;

// The additions are fused multiply-adds by 1: on some processors maxima and additions share their ports, and
// multiply-adds do not. `b` and `sums` hold, for each vector, where it begins.
template <std::size_t kRows, std::size_t kVectors>
HWY_INLINE void max_block(const float* HWY_RESTRICT a, const float* const* b, std::size_t features,
                          float* const* sums) {
  const Tag d;
  const auto one = hn::Set(d, 1.0F);
  Vector sum[kRows][kVectors];
  const float* y_at[kVectors];
  for (std::size_t v = 0; v < kVectors; ++v) {
    y_at[v] = b[v];
    for (std::size_t r = 0; r < kRows; ++r) sum[r][v] = hn::LoadU(d, sums[v] + r * kTileColumns);
  }
  for (std::size_t f = 0; f < features; ++f) {
    Vector y[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) y[v] = hn::LoadU(d, y_at[v] + f * kPanel);
    for (std::size_t r = 0; r < kRows; ++r) {
      const auto x = hn::Set(d, a[f * kPanel + r]);
      for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(hn::Max(x, y[v]), one, sum[r][v]);
    }
  }
  for (std::size_t v = 0; v < kVectors; ++v) {
    for (std::size_t r = 0; r < kRows; ++r) hn::StoreU(sum[r][v], d, sums[v] + r * kTileColumns);
  }
}

// A band of slices of `a` against kVectors vectors.
template <std::size_t kVectors>
HWY_INLINE void max_band(const float* a, const float* const* b, std::size_t features, float** sums) {
  constexpr std::size_t kRows = kAccumulators / (kVectors == 3 ? 4 : kVectors);
  static_assert(kBand % kRows == 0 && kPanel % kBand == 0);
  for (std::size_t row = 0; row < kBand; row += kRows) {
    max_block<kRows, kVectors>(a + row, b, features, sums);
    for (std::size_t v = 0; v < kVectors; ++v) sums[v] += kRows * kTileColumns;
  }
}

void add_maxima_here(const float* a, std::span<const float* const> b, std::size_t features, bool diagonal,
                     float* sums) {
  const std::size_t lanes = hn::Lanes(Tag());
  const std::size_t columns = b.size() * kPanel;
  for (std::size_t begin = 0; begin < features; begin += kChunk) {
    const std::size_t count = features - begin < kChunk ? features - begin : kChunk;
    for (std::size_t row = 0; row < kPanel; row += kBand) {
      const float* x = a + begin * kPanel + row;
      for (std::size_t column = diagonal ? row : 0; column < columns;) {
        const float* from[kMostVectors];
        float* to[kMostVectors];
        std::size_t vectors = 0;
        for (; vectors < kMostVectors && column < columns; ++vectors, column += lanes) {
          from[vectors] = b[column / kPanel] + begin * kPanel + column % kPanel;
          to[vectors] = sums + row * kTileColumns + column;
        }
        if (vectors == 4) max_band<4>(x, from, count, to);
        if (vectors == 3) max_band<3>(x, from, count, to);
        if (vectors == 2) max_band<2>(x, from, count, to);
        if (vectors == 1) max_band<1>(x, from, count, to);
      }
    }
  }
}

// Sums of four rows and all columns; the branch-free form of "if both are present".
void add_common_differences_here(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b,
                                 const float* HWY_RESTRICT a_present, const float* HWY_RESTRICT b_present,
                                 std::size_t features, float* HWY_RESTRICT sums) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t kFour = 4;
  for (std::size_t row = 0; row < kPanel; row += kFour) {
    for (std::size_t column = 0; column < kPanel; column += lanes) {
      Vector sum[kFour];
      for (std::size_t r = 0; r < kFour; ++r) sum[r] = hn::LoadU(d, sums + (row + r) * kTileColumns + column);
      for (std::size_t f = 0; f < features; ++f) {
        const auto y = hn::LoadU(d, b + f * kPanel + column);
        const auto there = hn::LoadU(d, b_present + f * kPanel + column);
        for (std::size_t r = 0; r < kFour; ++r) {
          const auto x = hn::Set(d, a[f * kPanel + row + r]);
          const auto both = hn::Mul(hn::Set(d, a_present[f * kPanel + row + r]), there);
          sum[r] = hn::MulAdd(hn::Abs(hn::Sub(x, y)), both, sum[r]);
        }
      }
      for (std::size_t r = 0; r < kFour; ++r) hn::StoreU(sum[r], d, sums + (row + r) * kTileColumns + column);
    }
  }
}

void drain_here(float* HWY_RESTRICT sums, double* HWY_RESTRICT total) {
  const hn::CappedTag<double, 8> d;
  const hn::Rebind<float, decltype(d)> half;
  for (std::size_t i = 0; i < kPanel * kTileColumns; i += hn::Lanes(d)) {
    const auto wide = hn::PromoteTo(d, hn::LoadU(half, sums + i));
    hn::StoreU(hn::Add(hn::LoadU(d, total + i), wide), d, total + i);
    hn::StoreU(hn::Zero(half), half, sums + i);
  }
}

void add_folders_here(const float* in, const FolderStep* steps, std::size_t count, float* out) {
  const Tag d;
  constexpr std::size_t kAhead = 8;  // elements lie in any order: the hardware does not guess the next one
  for (std::size_t s = 0; s < count; ++s) {
    const FolderStep& step = steps[s];
    if (s + kAhead < count && !steps[s + kAhead].from_out) {
      hwy::Prefetch(in + steps[s + kAhead].from * kPanel);
      hwy::Prefetch(in + steps[s + kAhead].from * kPanel + kPanel / 2);
    }
    const float* from = (step.from_out ? out : in) + step.from * kPanel;
    float* to = out + step.to * kPanel;
    for (std::size_t i = 0; i < kPanel; i += hn::Lanes(d)) {
      const auto x = hn::LoadU(d, from + i);
      hn::StoreU(step.first ? x : hn::Add(hn::LoadU(d, to + i), x), d, to + i);
    }
  }
}

void scale_rows_here(const float* HWY_RESTRICT scale, std::size_t rows, float* HWY_RESTRICT values) {
  const Tag d;
  for (std::size_t r = 0; r < rows; ++r) {
    const auto factor = hn::Set(d, scale[r]);
    for (std::size_t i = 0; i < kPanel; i += hn::Lanes(d)) {
      hn::StoreU(hn::Mul(hn::LoadU(d, values + r * kPanel + i), factor), d, values + r * kPanel + i);
    }
  }
}

void subtract_from_rows_here(const float* HWY_RESTRICT reference, std::size_t columns, float* HWY_RESTRICT values) {
  const Tag d;
  for (std::size_t c = 0; c < columns; ++c) {
    const auto common = hn::Set(d, reference[c]);
    for (std::size_t i = 0; i < kPanel; i += hn::Lanes(d)) {
      hn::StoreU(hn::Sub(hn::LoadU(d, values + c * kPanel + i), common), d, values + c * kPanel + i);
    }
  }
}

void add_rows_here(const float* HWY_RESTRICT in, std::size_t count, bool first, float* HWY_RESTRICT out) {
  const Tag d;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto x = hn::LoadU(d, in + i);
    hn::StoreU(first ? x : hn::Add(hn::LoadU(d, out + i), x), d, out + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace headscope
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headscope {

HWY_EXPORT(add_maxima_here);
HWY_EXPORT(add_common_differences_here);
HWY_EXPORT(drain_here);
HWY_EXPORT(add_folders_here);
HWY_EXPORT(scale_rows_here);
HWY_EXPORT(subtract_from_rows_here);
HWY_EXPORT(add_rows_here);

void add_maxima(const float* a, std::span<const float* const> b, std::size_t features, bool diagonal, float* sums) {
  HWY_DYNAMIC_DISPATCH(add_maxima_here)(a, b, features, diagonal, sums);
}

void add_common_differences(const float* a, const float* b, const float* a_present, const float* b_present,
                            std::size_t features, float* sums) {
  HWY_DYNAMIC_DISPATCH(add_common_differences_here)(a, b, a_present, b_present, features, sums);
}

void drain(float* sums, double* total) {
  HWY_DYNAMIC_DISPATCH(drain_here)(sums, total);
}

void add_folders(const float* in, const FolderStep* steps, std::size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(add_folders_here)(in, steps, count, out);
}

void scale_rows(const float* scale, std::size_t rows, float* values) {
  HWY_DYNAMIC_DISPATCH(scale_rows_here)(scale, rows, values);
}

void subtract_from_rows(const float* reference, std::size_t columns, float* values) {
  HWY_DYNAMIC_DISPATCH(subtract_from_rows_here)(reference, columns, values);
}

void add_rows(const float* in, std::size_t count, bool first, float* out) {
  HWY_DYNAMIC_DISPATCH(add_rows_here)(in, count, first, out);
}

}  // namespace headscope
#endif
