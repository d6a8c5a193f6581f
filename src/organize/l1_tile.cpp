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
using Tag = hn::CappedTag<float, kHalfPanel>;
using Vector = hn::Vec<Tag>;

// A register block compares several vectors of slices of `a` with several rotations of `b`; each rotation is one load
// that serves all vectors. Sums, vectors, a rotation, a maximum and a constant must fit in registers.
#if HWY_TARGET <= HWY_AVX3  // smaller numbers are better targets
constexpr std::size_t kMaxSums = 24;
constexpr std::size_t kMaxVectors = 5;
#else
constexpr std::size_t kMaxSums = 8;
constexpr std::size_t kMaxVectors = 4;
#endif
constexpr std::size_t kMaxMaskedSums = 8;
constexpr std::size_t kMaxMaskedVectors = 2;
// Features per pass: the chunk of all panels stays in the L1 cache while every register block of the tile passes over
// it.
constexpr std::size_t kChunk = 48;

// Prevents the compiler from folding the load into every use as a memory operand: loads are the bottleneck here.
HWY_INLINE void keep_in_register([[maybe_unused]] Vector& vector) {
#if HWY_ARCH_X86 && HWY_COMPILER_GCC && HWY_TARGET != HWY_EMU128
  asm("" : "+v"(vector.raw));
#endif
}

template <std::size_t kRotations, std::size_t kVectors>
HWY_INLINE void load_sums(float* const* from, std::size_t offset, std::size_t stride,
                          Vector (&sum)[kRotations][kVectors]) {
  for (std::size_t r = 0; r < kRotations; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::LoadU(Tag(), from[v] + offset + r * stride);
  }
}

template <std::size_t kRotations, std::size_t kVectors>
HWY_INLINE void store_sums(const Vector (&sum)[kRotations][kVectors], std::size_t offset, std::size_t stride,
                           float* const* to) {
  for (std::size_t r = 0; r < kRotations; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(sum[r][v], Tag(), to[v] + offset + r * stride);
  }
}

// The start of each vector of `a`, `b` at rotation 0, and the start of each vector's sums for all rotations.
struct Maxima {
  const float* a[kMaxVectors];
  const float* b;
  float* sums[kMaxVectors];
  std::size_t stride;  // distance between the sums of consecutive rotations
  std::size_t features;

  // Additions are fused multiply-adds by 1: on some processors maxima and additions share ports, and multiply-adds use
  // others.
  template <std::size_t kVectors, std::size_t kRotations>
  HWY_INLINE void add(std::size_t rotation) const {
    const Tag d;
    const auto one = hn::Set(d, 1.0F);
    Vector sum[kRotations][kVectors];
    load_sums(sums, rotation * stride, stride, sum);
    const float* x_at[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) x_at[v] = a[v];
    const float* y_at = b + rotation;
    for (std::size_t f = 0; f < features; ++f) {
      Vector x[kVectors];
      for (std::size_t v = 0; v < kVectors; ++v) {
        x[v] = hn::LoadU(d, x_at[v] + f * kFeatureRow);
        keep_in_register(x[v]);
      }
      for (std::size_t r = 0; r < kRotations; ++r) {
        auto y = hn::LoadU(d, y_at + f * kFeatureRow + r);
        keep_in_register(y);
        for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(hn::Max(x[v], y), one, sum[r][v]);
      }
    }
    store_sums(sum, rotation * stride, stride, sums);
  }

  template <std::size_t kVectors>
  void add_half(std::size_t rotation) const {
    constexpr std::size_t kMax = kMaxSums / kVectors;
    constexpr std::size_t kRotations = kMax < kHalfPanel ? kMax : kHalfPanel;
    constexpr std::size_t kRest = kHalfPanel % kRotations;
    const std::size_t end = rotation + kHalfPanel - kRest;
    for (; rotation < end; rotation += kRotations) add<kVectors, kRotations>(rotation);
    if constexpr (kRest > 0) add<kVectors, kRest>(rotation);
  }
};

// Calls add(columns, count, part, rotation, all) for the needed parts of a tile. The vectors of `a` start at the slices
// `columns`, all in the same `part` of half a panel, and use half of the rotations, starting at `rotation`, or only
// that one if not `all`.
template <std::size_t kMax, typename Add>
HWY_INLINE void for_halves(std::size_t panels, bool diagonal, const Add& add) {
  for (std::size_t part = 0; part < kHalfPanel; part += hn::Lanes(Tag())) {
    for (std::size_t rotation = 0; rotation < kPanel; rotation += kHalfPanel) {
      std::size_t columns[2 * kTilePanels];
      std::size_t count = 0;
      for (std::size_t half = 0; half < 2 * panels; ++half) {
        const bool with_itself = diagonal && half / 2 + 1 == panels;
        if (!with_itself || half % 2 == rotation / kHalfPanel) columns[count++] = half * kHalfPanel + part;
      }
      for (std::size_t first = 0; first < count;) {
        const std::size_t left = count - first;
        const std::size_t half_of_them = (left + 1) / 2;
        const std::size_t vectors = left <= kMax ? left : half_of_them < kMax ? half_of_them : kMax;
        add(columns + first, vectors, part, rotation, true);
        first += vectors;
      }
    }
    if (diagonal) {
      const std::size_t column = (panels - 1) * kPanel + part;
      add(&column, 1, part, kHalfPanel, false);
    }
  }
}

void add_maxima_here(std::span<const float* const> a, const float* b, std::size_t features, bool diagonal,
                     float* sums) {
  for (std::size_t begin = 0; begin < features; begin += kChunk) {
    const std::size_t count = features - begin < kChunk ? features - begin : kChunk;
    for_halves<kMaxVectors>(
        a.size(), diagonal,
        [&](const std::size_t* columns, std::size_t vectors, std::size_t part, std::size_t rotation, bool all) {
          Maxima maxima{{}, b + begin * kFeatureRow + part, {}, a.size() * kPanel, count};
          for (std::size_t v = 0; v < vectors; ++v) {
            maxima.a[v] = a[columns[v] / kPanel] + begin * kFeatureRow + columns[v] % kPanel;
            maxima.sums[v] = sums + columns[v];
          }
          if (!all) return maxima.add<1, 1>(rotation);
          if (vectors == 1) return maxima.add_half<1>(rotation);
          if (vectors == 2) return maxima.add_half<2>(rotation);
          if (vectors == 3) return maxima.add_half<3>(rotation);
          if (vectors == 4) return maxima.add_half<4>(rotation);
          if constexpr (kMaxVectors > 4) maxima.add_half<5>(rotation);
        });
  }
}

// The same with presence.
struct CommonDifferences {
  const float* a[kMaxMaskedVectors];
  const float* weight[kMaxMaskedVectors];
  const float* b;
  const float* present;
  float* sums[kMaxMaskedVectors];
  std::size_t stride;
  std::size_t features;

  // The branch-free form of "if both are present".
  template <std::size_t kVectors, std::size_t kRotations>
  HWY_INLINE void add(std::size_t rotation) const {
    const Tag d;
    Vector sum[kRotations][kVectors];
    load_sums(sums, rotation * stride, stride, sum);
    for (std::size_t f = 0; f < features; ++f) {
      for (std::size_t r = 0; r < kRotations; ++r) {
        const auto y = hn::LoadU(d, b + f * kFeatureRow + rotation + r);
        const auto there = hn::LoadU(d, present + f * kFeatureRow + rotation + r);
        for (std::size_t v = 0; v < kVectors; ++v) {
          const auto x = hn::LoadU(d, a[v] + f * kFeatureRow);
          const auto both = hn::Mul(hn::LoadU(d, weight[v] + f * kFeatureRow), there);
          sum[r][v] = hn::MulAdd(hn::Abs(hn::Sub(x, y)), both, sum[r][v]);
        }
      }
    }
    store_sums(sum, rotation * stride, stride, sums);
  }

  template <std::size_t kVectors>
  void add_half(std::size_t rotation) const {
    constexpr std::size_t kRotations = kMaxMaskedSums / kVectors;
    for (const std::size_t end = rotation + kHalfPanel; rotation < end; rotation += kRotations) {
      add<kVectors, kRotations>(rotation);
    }
  }
};

void add_common_differences_here(std::span<const MaskedFeatures> a, const MaskedFeatures& b, std::size_t features,
                                 bool diagonal, float* sums) {
  for_halves<kMaxMaskedVectors>(
      a.size(), diagonal,
      [&](const std::size_t* columns, std::size_t vectors, std::size_t part, std::size_t rotation, bool all) {
        CommonDifferences differences{{}, {}, b.values + part, b.present + part, {}, a.size() * kPanel, features};
        for (std::size_t v = 0; v < vectors; ++v) {
          differences.a[v] = a[columns[v] / kPanel].values + columns[v] % kPanel;
          differences.weight[v] = a[columns[v] / kPanel].weight + columns[v] % kPanel;
          differences.sums[v] = sums + columns[v];
        }
        if (!all) return differences.add<1, 1>(rotation);
        if (vectors == 1) return differences.add_half<1>(rotation);
        differences.add_half<2>(rotation);
      });
}

void drain_here(std::size_t count, double scale, float* HWY_RESTRICT sums, std::int64_t* HWY_RESTRICT total) {
  const hn::CappedTag<double, 8> d;
  const hn::Rebind<float, decltype(d)> half;
  const hn::Rebind<std::int64_t, decltype(d)> integer;
  const auto factor = hn::Set(d, scale);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto rounded = hn::Round(hn::Mul(hn::PromoteTo(d, hn::LoadU(half, sums + i)), factor));
    hn::StoreU(hn::Add(hn::LoadU(integer, total + i), hn::ConvertTo(integer, rounded)), integer, total + i);
    hn::StoreU(hn::Zero(half), half, sums + i);
  }
}

float largest_magnitude_here(const float* HWY_RESTRICT values, std::size_t rows) {
  const Tag d;
  auto largest = hn::Zero(d);
  for (std::size_t i = 0; i < rows * kPanel; i += hn::Lanes(d)) {
    largest = hn::Max(largest, hn::Abs(hn::LoadU(d, values + i)));
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

void add_folders_here(const float* in, const FolderStep* steps, std::size_t count, float* out) {
  const Tag d;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  constexpr std::size_t kVectors = kPanel / kLanes;
  constexpr std::size_t kAhead = 8;  // elements are in arbitrary order, so hardware prefetching does not help
  for (std::size_t s = 0; s < count;) {
    const std::uint32_t to = steps[s].to;
    Vector sum[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) sum[v] = hn::Zero(d);
    for (bool first = true; s < count && steps[s].to == to; ++s, first = false) {
      if (s + kAhead < count && !steps[s + kAhead].from_out) {
        hwy::Prefetch(in + steps[s + kAhead].from * kPanel);
        hwy::Prefetch(in + steps[s + kAhead].from * kPanel + kPanel / 2);
      }
      const float* from = (steps[s].from_out ? out : in) + steps[s].from * kPanel;
      for (std::size_t v = 0; v < kVectors; ++v) {
        const auto x = hn::LoadU(d, from + v * kLanes);
        sum[v] = first ? x : hn::Add(sum[v], x);
      }
    }
    for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(sum[v], d, out + to * kPanel + v * kLanes);
  }
}

void spread_rows_here(const float* HWY_RESTRICT sums, const float* HWY_RESTRICT scale, std::size_t rows,
                      float* HWY_RESTRICT features, bool first, float* HWY_RESTRICT parent) {
  const Tag d;
  for (std::size_t r = 0; r < rows; ++r) {
    const auto factor = hn::Set(d, scale[r]);
    for (std::size_t i = 0; i < kPanel; i += hn::Lanes(d)) {
      const auto sum = hn::LoadU(d, sums + r * kPanel + i);
      if (parent != nullptr) {
        float* above = parent + r * kPanel + i;
        hn::StoreU(first ? sum : hn::Add(hn::LoadU(d, above), sum), d, above);
      }
      const auto scaled = hn::Mul(sum, factor);
      hn::StoreU(scaled, d, features + r * kFeatureRow + i);
      if (i < kHalfPanel) hn::StoreU(scaled, d, features + r * kFeatureRow + kPanel + i);
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

}  // namespace HWY_NAMESPACE
}  // namespace headscope
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headscope {

HWY_EXPORT(add_maxima_here);
HWY_EXPORT(add_common_differences_here);
HWY_EXPORT(drain_here);
HWY_EXPORT(add_folders_here);
HWY_EXPORT(spread_rows_here);
HWY_EXPORT(subtract_from_rows_here);
HWY_EXPORT(largest_magnitude_here);

void add_maxima(std::span<const float* const> a, const float* b, std::size_t features, bool diagonal, float* sums) {
  HWY_DYNAMIC_DISPATCH(add_maxima_here)(a, b, features, diagonal, sums);
}

void add_common_differences(std::span<const MaskedFeatures> a, const MaskedFeatures& b, std::size_t features,
                            bool diagonal, float* sums) {
  HWY_DYNAMIC_DISPATCH(add_common_differences_here)(a, b, features, diagonal, sums);
}

void drain(std::size_t count, double scale, float* sums, std::int64_t* total) {
  HWY_DYNAMIC_DISPATCH(drain_here)(count, scale, sums, total);
}

void add_folders(const float* in, const FolderStep* steps, std::size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(add_folders_here)(in, steps, count, out);
}

void spread_rows(const float* sums, const float* scale, std::size_t rows, float* features, bool first, float* parent) {
  HWY_DYNAMIC_DISPATCH(spread_rows_here)(sums, scale, rows, features, first, parent);
}

void subtract_from_rows(const float* reference, std::size_t columns, float* values) {
  HWY_DYNAMIC_DISPATCH(subtract_from_rows_here)(reference, columns, values);
}

float largest_magnitude(const float* values, std::size_t rows) {
  return HWY_DYNAMIC_DISPATCH(largest_magnitude_here)(values, rows);
}

}  // namespace headscope
#endif
