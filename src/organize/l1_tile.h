#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace headscope {

/// Slices in a panel.
inline constexpr std::size_t kPanel = 32;
/// Half a panel: what a rotation takes at a time.
inline constexpr std::size_t kHalfPanel = kPanel / 2;
/// Features of a panel that are to be compared are rows of this many numbers: its slices, and the first half of them
/// again. So any kHalfPanel neighbors on the circle of slices are one load, and comparing two panels takes no
/// broadcasts, which would occupy the units that take maxima.
inline constexpr std::size_t kFeatureRow = kPanel + kHalfPanel;

/// A tile compares up to this many panels with one.
inline constexpr std::size_t kTilePanels = 3;
inline constexpr std::size_t kMostTileSums = kPanel * kTilePanels * kPanel;

/// Where the sum of two slices stands in a tile: rotation by rotation, and within each by slice of the panels `a`.
struct TilePlace {
  std::size_t panels;  ///< Of `a` in the tile.

  [[nodiscard]] constexpr std::size_t sums() const noexcept { return kPanel * panels * kPanel; }
  /// Slice `i` of a[panel] under `rotation`.
  [[nodiscard]] constexpr std::size_t at(std::size_t panel, std::size_t i, std::size_t rotation) const noexcept {
    return (rotation * panels + panel) * kPanel + i;
  }
  /// The slice of `b` that it is compared with.
  [[nodiscard]] static constexpr std::size_t partner(std::size_t i, std::size_t rotation) noexcept {
    return (i % kHalfPanel + rotation) % kPanel;
  }
};

/// Whether a panel that is compared with itself needs this half of it under this rotation: with these each two
/// slices meet.
[[nodiscard]] constexpr bool needed_on_diagonal(std::size_t half, std::size_t rotation) noexcept {
  return rotation / kHalfPanel == half || rotation == kHalfPanel;
}

/// Adds to sums[place.at(p, i, rotation)], for all slices i of the panels a[p] and j = place.partner(i, rotation) of
/// `b`, the sum over `features` of
///
///     max(a[p][f * kFeatureRow + i], b[f * kFeatureRow + j]).
///
/// `diagonal`: the last of `a` is `b`; of its sums only those that are needed are made, the others are undefined.
void add_maxima(std::span<const float* const> a, const float* b, std::size_t features, bool diagonal, float* sums);

/// One panel's features where slices lack some of them.
struct MaskedFeatures {
  const float* values;
  const float* present;  ///< 1, or 0 where it lacks the feature.
  const float* weight;   ///< `present` times the weight of the feature.
};
/// Adds weight * |a - b|, over those features that are present in both.
void add_common_differences(std::span<const MaskedFeatures> a, const MaskedFeatures& b, std::size_t features,
                            bool diagonal, float* sums);

/// total += sums * scale, rounded to integers; sums = 0.
void drain(std::size_t count, double scale, float* sums, std::int64_t* total);

/// One step of tree addition on rows of kPanel numbers: out[to] is the sum of the rows `from`, of `in` or of `out`
/// itself, of all steps with this `to`, which follow one another.
struct FolderStep {
  std::uint32_t to;
  std::uint32_t from;
  bool from_out;  ///< The row is one of `out`, a folder; else one of `in`, an element.
};
void add_folders(const float* in, const FolderStep* steps, std::size_t count, float* out);

/// Makes feature rows of rows of kPanel sums, times scale[r]. On the way the sums are added to `parent`, or assigned to
/// it if they are its `first`; null: there is none.
void spread_rows(const float* sums, const float* scale, std::size_t rows, float* features, bool first, float* parent);

/// values[c * kPanel + s] -= reference[c] for all columns and slices.
void subtract_from_rows(const float* reference, std::size_t columns, float* values);

/// The largest magnitude in rows of kPanel numbers.
[[nodiscard]] float largest_magnitude(const float* values, std::size_t rows);

}  // namespace headscope
