#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace headscope {

/// Slices per panel.
inline constexpr std::size_t kPanel = 32;
/// Half a panel: the slices that one rotation load covers.
inline constexpr std::size_t kHalfPanel = kPanel / 2;
/// Feature rows of a panel have this many numbers: its slices, then the first half of them again. Any kHalfPanel
/// neighbors on the circle of slices can then be loaded at once, and comparing two panels needs no broadcasts, which
/// would occupy the ports that compute maxima.
inline constexpr std::size_t kFeatureRow = kPanel + kHalfPanel;

/// Maximum number of panels that a tile compares with one panel.
inline constexpr std::size_t kTilePanels = 3;
inline constexpr std::size_t kMaxTileSums = kPanel * kTilePanels * kPanel;

/// Layout of the sums of a tile: by rotation, then by slice of the panels `a`.
struct TilePlace {
  std::size_t panels;  ///< Number of panels `a` in the tile.

  [[nodiscard]] constexpr std::size_t sums() const noexcept { return kPanel * panels * kPanel; }
  /// Index for slice `i` of a[panel] under `rotation`.
  [[nodiscard]] constexpr std::size_t at(std::size_t panel, std::size_t i, std::size_t rotation) const noexcept {
    return (rotation * panels + panel) * kPanel + i;
  }
  /// The slice of `b` that slice `i` is compared with.
  [[nodiscard]] static constexpr std::size_t partner(std::size_t i, std::size_t rotation) noexcept {
    return (i % kHalfPanel + rotation) % kPanel;
  }
};

/// Whether a panel that is compared with itself needs this half under this rotation. The needed ones cover every pair
/// of slices.
[[nodiscard]] constexpr bool needed_on_diagonal(std::size_t half, std::size_t rotation) noexcept {
  return rotation / kHalfPanel == half || rotation == kHalfPanel;
}

/// For all slices i of the panels a[p] and j = place.partner(i, rotation) of `b`, adds to
/// sums[place.at(p, i, rotation)] the sum over `features` of
///
///     max(a[p][f * kFeatureRow + i], b[f * kFeatureRow + j]).
///
/// `diagonal`: the last panel of `a` is `b`; only the needed sums of it are computed, the others are undefined.
void add_maxima(std::span<const float* const> a, const float* b, std::size_t features, bool diagonal, float* sums);

/// Features of one panel whose slices may lack some of them.
struct MaskedFeatures {
  const float* values;
  const float* present;  ///< 1, or 0 where the slice lacks the feature.
  const float* weight;   ///< `present` times the weight of the feature.
};
/// Adds weight * |a - b| over the features present in both.
void add_common_differences(std::span<const MaskedFeatures> a, const MaskedFeatures& b, std::size_t features,
                            bool diagonal, float* sums);

/// total += sums * scale, rounded to integers; sums = 0.
void drain(std::size_t count, double scale, float* sums, std::int64_t* total);

/// One step of tree addition on rows of kPanel numbers: row `from`, of `in` or of `out` itself, is a term of out[to].
/// Steps with the same `to` are consecutive.
struct FolderStep {
  std::uint32_t to;
  std::uint32_t from;
  bool from_out;  ///< The row is a folder in `out`; otherwise an element in `in`.
};
void add_folders(const float* in, const FolderStep* steps, std::size_t count, float* out);

/// Converts rows of kPanel sums, times scale[r], to feature rows. Also adds the sums to `parent`, or assigns them if
/// `first`; null: there is no parent.
void spread_rows(const float* sums, const float* scale, std::size_t rows, float* features, bool first, float* parent);

/// values[c * kPanel + s] -= reference[c] for all columns and slices.
void subtract_from_rows(const float* reference, std::size_t columns, float* values);

/// The largest magnitude in rows of kPanel numbers.
[[nodiscard]] float largest_magnitude(const float* values, std::size_t rows);

}  // namespace headscope
