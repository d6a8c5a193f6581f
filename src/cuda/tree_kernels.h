#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace headscope::cuda {

/// Slices side by side: entry (row, column) of slice s is [(row * columns + column) * width + s]. From the last slice
/// on there are zeros.
struct SliceGrid {
  std::size_t slices = 0;
  std::size_t width = 0;  ///< Slices, rounded up to kSliceTile.
  std::size_t rows = 0;
  std::size_t columns = 0;

  [[nodiscard]] std::size_t size() const noexcept { return rows * columns * width; }
};

/// Slices of a side of what one block of threads computes.
inline constexpr std::size_t kSliceTile = 64;
/// Features that are read at a time; their number is rounded up to it.
inline constexpr std::size_t kFeatureStep = 16;

/// A dense tensor as its owner has it: axes from the one that runs fastest on.
struct TensorOrder {
  enum Axis : int { kSlice, kRow, kColumn };
  std::size_t extents[3];
  Axis axes[3];
};

/// Where it says which entries are present, with strides of its own.
struct PresentEntries {
  const std::uint8_t* values = nullptr;  ///< On the device; null: all are.
  std::size_t slice_stride = 0;
  std::size_t row_stride = 0;
  std::size_t column_stride = 0;
  std::size_t before = 0;  ///< How many of them come before the first of `values`.
};

/// Puts entries [first, first + count) of a tensor where the grid has them, zero where they are absent, and
/// notes in `presence` which are, unless it is null.
void place_entries(const float* entries, std::size_t first, std::size_t count, const TensorOrder& order,
                   const PresentEntries& present, const SliceGrid& grid, float* values, std::uint8_t* presence,
                   cudaStream_t stream);

/// Subtracts from every entry its mean over the slices, which no difference sees, to keep the digits of what is left.
void center_entries(const SliceGrid& grid, float* values, cudaStream_t stream);

/// Writes the largest magnitude of all entries to `largest`, on the device.
void find_largest(const SliceGrid& grid, const float* values, float* largest, cudaStream_t stream);

/// Folders of a tree on the device: folder f holds order[begin[f]] up to, not including, order[end[f]].
struct DeviceFolders {
  const int* order = nullptr;
  const int* begin = nullptr;
  const int* end = nullptr;
  const double* weight = nullptr;
  std::size_t count = 0;
};

/// For `count` folders of the rows from `first` on: out[folder][column][slice] = sum over the rows of the folder.
void sum_rows(const SliceGrid& grid, const float* values, const DeviceFolders& rows, std::size_t first,
              std::size_t count, float* out, cudaStream_t stream);
void sum_rows(const SliceGrid& grid, const std::uint8_t* presence, const DeviceFolders& rows, std::size_t first,
              std::size_t count, float* out, cudaStream_t stream);

/// What of the sums over rows becomes features.
struct FeatureSource {
  const float* sums = nullptr;      ///< As `sum_rows` makes them.
  const float* presence = nullptr;  ///< Of what is present, the same, if that differs between slices.
  /// Present entries in folders I x J, [row folder][column folder], if that is the same for all slices and not all are.
  const float* counts = nullptr;
};

/// out[(folder of rows - first) * columns.count + folder of columns][slice] = w_I w_J times the mean over I x J: NaN
/// where a slice has nothing there and `presence` is given, 0 where no slice has anything.
void make_features(const SliceGrid& grid, const FeatureSource& source, const DeviceFolders& rows, std::size_t first,
                   std::size_t count, const DeviceFolders& columns, float* out, cudaStream_t stream);

/// Sums of |x - y| over features, of all pairs of slices, under way: the features are dealt out to `splits` blocks of
/// threads for each pair of tiles, which add to sums of their own. Sums over some features become integers, and those
/// add up exactly.
struct PairSums {
  std::size_t tiles = 0;  ///< Pairs of tiles.
  std::size_t splits = 0;
  double scale = 1;           ///< What a sum is multiplied with before it is rounded.
  long long* sums = nullptr;  ///< tiles * splits * kSliceTile^2, zeros to begin with

  [[nodiscard]] static PairSums plan(std::size_t width) noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept { return tiles * splits * kSliceTile * kSliceTile * sizeof *sums; }
};

/// Adds sum |x - y| over `count` features, a multiple of kFeatureStep, [feature][width]. Where `skip_nan`, features
/// that are NaN on either side add nothing.
void add_differences(const float* features, std::size_t count, std::size_t width, bool skip_nan, const PairSums& sums,
                     cudaStream_t stream);
/// totals[i * slices + j], both triangles.
void finish_sums(const PairSums& sums, std::size_t slices, std::int64_t* totals, cudaStream_t stream);

}  // namespace headscope::cuda
