#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace headscope {

/// Slices in a panel: features are stored as [panel][feature][kPanel].
inline constexpr std::size_t kPanel = 32;

/// Columns of a tile of sums: one panel of slices against two.
inline constexpr std::size_t kTileColumns = 2 * kPanel;

/// Adds to sums[i * kTileColumns + j], for slices i of panel `a` and j of the panels `b` (one or two of them, j
/// counting through both), the sum over `features` of
///
///     max(a[f * kPanel + i], b[f * kPanel + j]).
///
/// `diagonal`: the first of `b` is `a`, and only j >= i is needed; what lies below is left undefined.
void add_maxima(const float* a, std::span<const float* const> b, std::size_t features, bool diagonal, float* sums);

/// Adds the sum of scale[f] * |a - b|, for one panel `b`, over those features that are present, 1 in `a_present` and
/// `b_present`, in both; elsewhere these are 0. `a_present` is multiplied by the scale already.
void add_common_differences(const float* a, const float* b, const float* a_present, const float* b_present,
                            std::size_t features, float* sums);

/// total += sums, sums = 0, for a tile of kPanel x kTileColumns.
void drain(float* sums, double* total);

/// One step of tree addition on rows of kPanel numbers: out[to] = or += the row `from`, of `in` or of `out` itself.
struct FolderStep {
  std::uint32_t to;
  std::uint32_t from;
  bool from_out;  ///< The row is one of `out`, a folder; else one of `in`, an element.
  bool first;     ///< Assigns instead of adding.
};
void add_folders(const float* in, const FolderStep* steps, std::size_t count, float* out);

/// values[r * kPanel + s] *= scale[r] for all rows and slices.
void scale_rows(const float* scale, std::size_t rows, float* values);

/// values[c * kPanel + s] -= reference[c] for all columns and slices.
void subtract_from_rows(const float* reference, std::size_t columns, float* values);

/// out[i] += in[i], or out[i] = in[i].
void add_rows(const float* in, std::size_t count, bool first, float* out);

}  // namespace headscope
