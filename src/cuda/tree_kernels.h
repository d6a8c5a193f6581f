#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace headscope::cuda {

/// Interleaved slices: entry (row, column) of slice s is at [(row * columns + column) * width + s]. The padding after
/// the last slice is zero.
struct SliceGrid {
  std::size_t slices = 0;
  std::size_t width = 0;  ///< Number of slices, rounded up to a multiple of kSliceTile.
  std::size_t rows = 0;
  std::size_t columns = 0;

  [[nodiscard]] std::size_t size() const noexcept { return rows * columns * width; }
};

/// Slices per side of the tile that a thread block computes.
inline constexpr std::size_t kSliceTile = 64;
/// Features read at a time; their number is padded to a multiple of this.
inline constexpr std::size_t kFeatureStep = 16;

/// Axes of a dense tensor in the caller's layout, fastest-varying first.
struct TensorOrder {
  enum Axis : int { kSlice, kRow, kColumn };
  std::size_t extents[3];
  Axis axes[3];
};

/// Mask of present entries, with its own strides.
struct PresentEntries {
  const std::uint8_t* values = nullptr;  ///< On the device; null: all entries are present.
  std::size_t slice_stride = 0;
  std::size_t row_stride = 0;
  std::size_t column_stride = 0;
  std::size_t before = 0;  ///< Offset of `values` in the whole mask.
};

/// Copies entries [first, first + count) of a tensor to their places in the grid, zero where absent. Unless `presence`
/// is null, records in it which entries are present.
void place_entries(const float* entries, std::size_t first, std::size_t count, const TensorOrder& order,
                   const PresentEntries& present, const SliceGrid& grid, float* values, std::uint8_t* presence,
                   cudaStream_t stream);

/// Subtracts from every entry its mean over the slices, which leaves differences unchanged and preserves precision.
void center_entries(const SliceGrid& grid, float* values, cudaStream_t stream);

/// Writes the largest magnitude of all entries to `largest`, in device memory.
void find_largest(const SliceGrid& grid, const float* values, float* largest, cudaStream_t stream);

/// Folders of a tree on the device: folder f contains order[begin[f]] up to, but not including, order[end[f]].
struct DeviceFolders {
  const int* order = nullptr;
  const int* begin = nullptr;
  const int* end = nullptr;
  const double* weight = nullptr;
  std::size_t count = 0;
};

/// For `count` row folders starting at `first`: out[folder][column][slice] = sum over the rows of the folder.
void sum_rows(const SliceGrid& grid, const float* values, const DeviceFolders& rows, std::size_t first,
              std::size_t count, float* out, cudaStream_t stream);
void sum_rows(const SliceGrid& grid, const std::uint8_t* presence, const DeviceFolders& rows, std::size_t first,
              std::size_t count, float* out, cudaStream_t stream);

/// What features are computed from.
struct FeatureSource {
  const float* sums = nullptr;      ///< From `sum_rows`.
  const float* presence = nullptr;  ///< The same for the presence mask, if it differs between slices.
  /// Present entries in folders I x J, [row folder][column folder], if some are absent, the same ones in all slices.
  const float* counts = nullptr;
};

/// out[(row folder - first) * columns.count + column folder][slice] = w_I w_J times the mean over I x J. If there are
/// no present entries in a slice: NaN if `presence` is given, otherwise 0.
void make_features(const SliceGrid& grid, const FeatureSource& source, const DeviceFolders& rows, std::size_t first,
                   std::size_t count, const DeviceFolders& columns, float* out, cudaStream_t stream);

/// Running sums of |x - y| over features, for all pairs of slices. For each pair of tiles, the features are divided
/// among `splits` thread blocks, which add to separate sums. Partial sums over a few features are rounded to integers,
/// whose addition is exact.
struct PairSums {
  std::size_t tiles = 0;  ///< Number of pairs of tiles.
  std::size_t splits = 0;
  double scale = 1;           ///< Factor applied to a partial sum before rounding.
  long long* sums = nullptr;  ///< tiles * splits * kSliceTile^2, initially zero.

  [[nodiscard]] static PairSums plan(std::size_t width) noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept { return tiles * splits * kSliceTile * kSliceTile * sizeof *sums; }
};

/// Adds sum |x - y| over `count` (a multiple of kFeatureStep) features, [feature][width]. With `skip_nan`, features
/// that are NaN in either slice are ignored.
void add_differences(const float* features, std::size_t count, std::size_t width, bool skip_nan, const PairSums& sums,
                     cudaStream_t stream);
/// Writes totals[i * slices + j], both triangles.
void finish_sums(const PairSums& sums, std::size_t slices, std::int64_t* totals, cudaStream_t stream);

}  // namespace headscope::cuda
